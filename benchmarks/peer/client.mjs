// The client that the CLIs embed, for any companion. Arguments: port, token, sessions, requests. Prints the times in ms as one JSON line.
// Each line on stdin begins a round. "notifications" and a number: wait until so many have come in all, and print their times. "quit" ends the
// sessions and the program.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.env.NODE_MODULES, "/"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const [port, token, count, requests] = process.argv.slice(2);
const clients = [];
let notifications = [];
let arrived = () => {};
for (let i = 0; i < Number(count); i++) {
  const client = new Client({ name: "streamable-http-client", version: "1.0.0" });
  client.onerror = (error) => {
    console.error(String(error));
    process.exit(1);
  };
  client.fallbackNotificationHandler = async ({ params }) => {
    const path = params?.workspaceState?.openFiles?.[0]?.path ?? "";
    if (!/^\/\d+$/.test(path)) return;
    notifications.push(Number(process.hrtime.bigint() - BigInt(path.slice(1))) / 1e6);
    arrived();
  };
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit }));
  clients.push(client);
}

async function timed(number, ask, after = async () => {}) {
  const times = [];
  for (let i = 0; i < number; i++) {
    const client = clients[i % clients.length];
    const started = process.hrtime.bigint();
    await ask(client, i);
    times.push(Number(process.hrtime.bigint() - started) / 1e6);
    await after(client, i);
  }
  return times;
}

const call = (name, more) => (client, i) =>
  client.callTool({ name, arguments: { filePath: `/nowhere/${i}.txt`, ...more } });
const small = "x".repeat(63) + "\n";
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "quit") break;
  if (line.startsWith("notifications ")) {
    const wanted = Number(line.split(" ")[1]);
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`${notifications.length} of ${wanted} notifications have come`)), 30_000).unref();
      arrived = () => notifications.length >= wanted && resolve();
      arrived();
    });
    process.stdout.write(`${JSON.stringify({ notifications })}\n`);
    notifications = [];
    continue;
  }
  const number = Number(requests);
  const list = await timed(number, (client) => client.listTools());
  const close = call("closeDiff", { suppressNotification: true });
  const diff = await timed(number / 2, call("openDiff", { newContent: small.repeat(32) }), close);
  const large = await timed(number / 5, call("openDiff", { newContent: small.repeat(16384) }), close);
  process.stdout.write(`${JSON.stringify({ list, diff, large })}\n`);
}
for (const client of clients) client.onerror = () => {};
await Promise.all(clients.map((client) => client.transport.terminateSession()));
process.stdout.write(`${JSON.stringify({ ended: true })}\n`);
process.exit(0);

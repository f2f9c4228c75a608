// The MCP client of the Node SDK, which the CLIs embed, controlled by JSON lines (see lines.py). Arguments: URL, token.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.env.NODE_MODULES, "/"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const [url, token] = process.argv.slice(2);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const client = new Client({ name: "streamable-http-client", version: "1.0.0" });
client.fallbackNotificationHandler = async ({ method, params }) => say({ event: "notification", method, params });
client.onerror = (error) => say({ event: "error", message: String(error) });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));

const requests = {
  tools: async () => (await client.listTools()).tools,
  call: ({ name, arguments: given }) => client.callTool({ name, arguments: given }),
  quit: async () => setImmediate(() => client.close().finally(() => process.exit(0))),
};

say({ event: "ready" });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: what, ...rest } = JSON.parse(line);
  try {
    say({ id, ok: true, result: await requests[what](rest) });
  } catch (error) {
    say({ id, ok: false, error: String(error) });
  }
}
process.exit(0);

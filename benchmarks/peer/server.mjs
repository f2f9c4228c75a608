// A companion with the stack of the official ones for VS Code: express and the TypeScript SDK. The same two tools and the same
// notification as ours, and no editor behind them. Argument: a token. Prints its port and its memory as a JSON line. A line on stdin has a
// number and ms: it sends so many contexts, one every so many ms.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { randomUUID } from "node:crypto";
import { join } from "node:path";

const before = process.memoryUsage.rss();
const require = createRequire(join(process.env.NODE_MODULES, "/"));
const express = require("express");
const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { StreamableHTTPServerTransport } = require("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = require("@modelcontextprotocol/sdk/types.js");

const [token] = process.argv.slice(2);
const text = { type: "string" };
const tools = ["openDiff", "closeDiff"].map((name) => ({
  name,
  description: `${name} of a file`,
  inputSchema: { type: "object", properties: { filePath: text, newContent: text }, required: ["filePath"] },
}));
const sessions = new Map();
const open = new Map();

function server() {
  const one = new Server({ name: "peer", version: "1.0.0" }, { capabilities: { tools: {} } });
  one.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
  one.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given } }) => {
    if (name === "openDiff") {
      open.set(given.filePath, given.newContent);
      return { content: [] };
    }
    const content = open.get(given.filePath);
    open.delete(given.filePath);
    return { content: [{ type: "text", text: JSON.stringify({ content }) }] };
  });
  return one;
}

const app = express();
app.use(express.json({ limit: "64mb" }));
app.use((request, response, next) => {
  const host = `127.0.0.1:${listening.address().port}`;
  if (request.headers.host !== host || request.headers.origin) return response.status(403).end();
  if (request.headers.authorization !== `Bearer ${token}`) return response.status(401).end();
  next();
});
app.all("/mcp", async (request, response) => {
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    transport.peer = server();
    await transport.peer.connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
});

const listening = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: listening.address().port, before })}\n`);
});
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "memory") {
    process.stdout.write(`${JSON.stringify({ rss: process.memoryUsage.rss() })}\n`);
    continue;
  }
  const [number, pause] = line.split(" ").map(Number);
  for (let i = 0; i < number; i++) {
    const at = process.hrtime.bigint().toString();
    const params = { workspaceState: { openFiles: [{ path: `/${at}`, timestamp: 1 }] } };
    for (const one of sessions.values()) await one.peer.notification({ method: "ide/contextUpdate", params });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
process.exit(0);

// The Node SDK's client of an MCP server on standard input and output. Arguments: the server's command. Prints one JSON
// object: the tools, those with a schema of their answers, which the client checks, and the answer to each call that the
// first line of its own input asks for, as [name, arguments]. A third element, "cancel": it is cancelled at the next line.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.env.NODE_MODULES, "/"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "node-client", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, cwd: process.cwd() }));
const { tools } = await client.listTools();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const answers = {};
const all = [];
for (const [name, given, then] of JSON.parse((await lines.next()).value)) {
  const abort = new AbortController();
  const call = client.callTool({ name, arguments: given }, undefined, { signal: abort.signal, timeout: 300_000 });
  if (then === "cancel") lines.next().then(() => abort.abort("not wanted any more"));
  answers[name] = await call.catch((error) => ({ failed: String(error) }));
  all.push(answers[name]);
}
const names = (found) => found.map(({ name }) => name);
const schemas = names(tools.filter(({ outputSchema }) => outputSchema));
process.stdout.write(JSON.stringify({ tools: names(tools), schemas, answers, all }));
await client.close();
process.exit(0);

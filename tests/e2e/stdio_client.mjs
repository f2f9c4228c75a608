// The Node SDK's client of an MCP server on standard input and output. Arguments: the server's command. Prints one JSON
// object: the tools, and the answer to each call that the first line of its own input asks for, as [name, arguments].
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
const [line] = await Promise.race([new Promise((done) => createInterface({ input: process.stdin }).once("line", (text) => done([text])))]);
const answers = {};
for (const [name, given] of JSON.parse(line)) answers[name] = await client.callTool({ name, arguments: given });
process.stdout.write(JSON.stringify({ tools: tools.map(({ name }) => name), answers }));
await client.close();
process.exit(0);

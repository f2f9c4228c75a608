// An MCP server on standard input and output, which a CLI starts. It passes each call to the window of Sublime Text that
// has the CLI's folder open, whatever port and token that has by now. Node 18 or later, nothing else.
//
//   node mcp_bridge.mjs NAME      NAME is what the editor calls the CLI
//   node mcp_bridge.mjs --hook    after a tool of the CLI has changed a file: prints its problems for the model
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { request } from "node:http";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";

const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const LOOK = 2000; // milliseconds between two looks for the editor while it is not there
const HOOK_LIMIT = 8000; // milliseconds that a hook may take
const FOLDER = real(process.cwd());
const NO_EDITOR = `No window of Sublime Text with QwenCompanion has ${FOLDER} open.`;

class EditorError extends Error {}

function real(path) {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** How long the folder of a window is that has ours in it; 0 if none has. */
function depth(workspacePath) {
  let folders = workspacePath.split(delimiter);
  if (workspacePath.startsWith("[")) {
    try {
      folders = JSON.parse(workspacePath);
    } catch {
      // a folder whose name begins so
    }
  }
  let found = 0;
  for (const folder of folders.filter(Boolean).map(real)) {
    const inside = relative(folder, FOLDER);
    if (!isAbsolute(inside) && inside.split(/[\\/]/)[0] !== "..") found = Math.max(found, folder.length);
  }
  return found;
}

/** The window for us, as its discovery file tells it (docs/protocols/qwen-ide.md#discovery); undefined if there is none. */
function findWindow() {
  const home = process.env.QWEN_HOME ? resolve(process.env.QWEN_HOME.replace(/^~(?=$|[\\/])/, homedir())) : join(homedir(), ".qwen");
  const folder = join(home, "ide");
  const found = [];
  let names = [];
  try {
    names = readdirSync(folder).filter((name) => /^\d+\.lock$/.test(name));
  } catch {
    return undefined;
  }
  for (const name of names) {
    try {
      const path = join(folder, name);
      const { port, authToken: token, workspacePath, ppid, ideInfo } = JSON.parse(readFileSync(path, "utf8"));
      if (ideInfo?.name !== "sublimetext" || !Number.isInteger(port) || !isAlive(ppid)) continue;
      const own = String(port) === process.env.QWEN_CODE_IDE_SERVER_PORT;
      const length = own ? Infinity : depth(workspacePath);
      if (length) found.push({ port, token, length, at: statSync(path).mtimeMs });
    } catch {
      // it goes just now
    }
  }
  return found.sort((one, other) => other.length - one.length || other.at - one.at)[0];
}

/** The editor's session. It is opened again when the editor has restarted or the window is another one. */
class Editor {
  constructor(name) {
    this.path = `/tools/${encodeURIComponent(name)}`;
    this.number = 0;
  }

  async ask(method, params, signal) {
    for (let tries = 0; ; tries++) {
      const window = findWindow();
      if (!window) throw new EditorError(NO_EDITOR);
      try {
        await this.open(window);
        const { status, body } = await this.post(this.session, { id: ++this.number, method, params }, signal);
        if (status === 200) return JSON.parse(body);
        this.session = undefined;
        if (status === 403) throw new EditorError(body);
        if (tries > 1) throw new EditorError(`Sublime Text has answered with ${status}.`);
      } catch (error) {
        if (error instanceof EditorError || signal?.aborted) throw error;
        this.session = undefined;
        // Whether the editor has seen a call that got no answer, nobody knows: it is not made twice.
        if (tries > 1 || (method === "tools/call" && error.code !== "ECONNREFUSED")) throw new EditorError(`Sublime Text does not answer: ${error.message}.`);
      }
      await new Promise((done) => setTimeout(done, 300));
    }
  }

  async open({ port, token }) {
    if (this.session?.port === port && this.session.token === token) return;
    const session = { port, token };
    const clientInfo = { name: "qwen-companion-bridge", version: "1" };
    const params = { protocolVersion: VERSIONS[0], capabilities: {}, clientInfo };
    const { status, headers, body } = await this.post(session, { id: ++this.number, method: "initialize", params });
    if (status === 403) throw new EditorError(body);
    if (status !== 200) throw new Error(`it has refused the connection with ${status}`);
    session.id = headers["mcp-session-id"];
    session.version = JSON.parse(body).result.protocolVersion;
    await this.post(session, { method: "notifications/initialized" });
    this.session = session;
  }

  post(session, message, signal) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    return this.send(session, "POST", body, signal);
  }

  async close() {
    if (this.session) await this.send(this.session, "DELETE", Buffer.alloc(0)).catch(() => {});
  }

  send({ port, token, id, version }, method, body, signal) {
    const headers = {
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": body.length,
      ...(id && { "mcp-session-id": id, "mcp-protocol-version": version }),
    };
    return new Promise((done, failed) => {
      // Not fetch: it gives up after five minutes, and a person may think longer about a diff.
      const sent = request({ host: "127.0.0.1", port, path: this.path, method, headers, signal }, (answer) => {
        const parts = [];
        answer.on("data", (part) => parts.push(part));
        answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts).toString("utf8") }));
        answer.on("error", failed);
      });
      sent.on("error", failed);
      sent.end(body);
    });
  }
}

async function serve(name) {
  const editor = new Editor(name);
  const running = new Map();
  let watching;
  const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  function watch() {
    watching ??= setInterval(() => {
      if (!findWindow()) return;
      clearInterval(watching);
      watching = undefined;
      say({ method: "notifications/tools/list_changed" });
    }, LOOK);
  }

  const methods = {
    initialize: async ({ protocolVersion } = {}) => ({
      protocolVersion: VERSIONS.includes(protocolVersion) ? protocolVersion : VERSIONS[0],
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "qwen-companion", title: "QwenCompanion", version: "1" },
    }),
    ping: async () => ({}),
    "tools/list": async (params, signal) => {
      try {
        const { cursor, ...rest } = params ?? {};
        return (await editor.ask("tools/list", rest, signal)).result;
      } catch (error) {
        process.stderr.write(`${error.message}\n`);
        watch();
        return { tools: [] };
      }
    },
    "tools/call": async (params, signal) => {
      try {
        const { _meta, ...rest } = params;
        const { result, error } = await editor.ask("tools/call", rest, signal);
        if (error) throw new EditorError(error.message);
        return result;
      } catch (error) {
        return { content: [{ type: "text", text: error.message }], isError: true };
      }
    },
  };

  for await (const line of createInterface({ input: process.stdin })) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      continue;
    }
    const { id, method, params } = message ?? {};
    if (method === "notifications/cancelled") running.get(params?.requestId)?.abort();
    if (id === undefined || method === undefined) continue;
    if (typeof method !== "string" || !Object.hasOwn(methods, method)) {
      say({ id, error: { code: -32601, message: `Method not found: ${method}` } });
      continue;
    }
    const abort = new AbortController();
    running.set(id, abort);
    methods[method](params, abort.signal)
      .then((result) => abort.signal.aborted || say({ id, result }))
      .catch((error) => say({ id, error: { code: -32603, message: String(error.message) } }))
      .finally(() => running.delete(id));
  }
  for (const abort of running.values()) abort.abort();
  clearInterval(watching);
  await editor.close();
  process.exit(0);
}

/** For a hook that runs after a tool: what the CLI hands in names the file, and what is printed goes to the model. */
async function hook() {
  setTimeout(() => process.exit(0), HOOK_LIMIT).unref();
  let input = "";
  for await (const part of process.stdin) input += part;
  const { hook_event_name: hookEventName, tool_input: given = {} } = JSON.parse(input);
  const named = given.file_path ?? given.absolute_path ?? given.path;
  if (typeof named !== "string") return;
  const path = real(resolve(FOLDER, named));
  const editor = new Editor("hook");
  try {
    const { result } = await editor.ask("tools/call", { name: "getDiagnostics", arguments: { paths: [path], severity: "warning", limit: 20 } });
    const found = result?.structuredContent;
    if (result?.isError || !found?.diagnostics.length) return;
    const lines = found.diagnostics.map(({ start, severity, message, source }) => `${start.line}:${start.character} ${severity}: ${message} (${source})`);
    if (found.nextCursor) lines.push(`… and ${found.total - lines.length} more`);
    const additionalContext = `The user's editor shows these problems in ${named} now:\n${lines.join("\n")}`;
    const answer = `${JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } })}\n`;
    // The end of the process would cut what a pipe has not taken yet, which is all beyond 16 KiB on macOS.
    await new Promise((written) => process.stdout.write(answer, written));
  } finally {
    await editor.close();
  }
}

if (process.argv[2] === "--hook") {
  hook().then(
    () => process.exit(0),
    () => process.exit(0), // no editor: the tool has done what it does without one
  );
} else {
  serve(process.argv[2] ?? "CLI");
}

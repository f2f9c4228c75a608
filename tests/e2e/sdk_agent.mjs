// An agent made with the official Node SDK: whoever has signed in may begin a session, and signing out ends that.
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.SDK, "/"));
const { agent, methods, ndJsonStream, RequestError } = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));

let isIn = false;
const capabilities = { loadSession: true, auth: { logout: {} } };

agent({ name: "sdk-node" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentInfo: { name: "sdk-node", title: "Node SDK Agent", version: "1" },
    agentCapabilities: capabilities,
    authMethods: [{ id: "own", name: "Own" }],
  }))
  .onRequest(methods.agent.authenticate, () => {
    isIn = true;
    return {};
  })
  .onRequest(methods.agent.logout, () => {
    isIn = false;
    return {};
  })
  .onRequest(methods.agent.session.new, () => {
    if (!isIn) throw RequestError.authRequired();
    return { sessionId: "one" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

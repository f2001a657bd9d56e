import page from "../../../src/dashboard/index.html";
import { createLab } from "../tools/lab.ts";

/** Serves the dashboard from source, with reload, in front of a gateway in a sandbox. scripts/dashboard runs it. */

const PORT = 5001;

const lab = await createLab({ cards: 2, computers: 3 });
lab.nameComputers();
const gateway = await lab.startGateway();
const origin = `127.0.0.1:${gateway.port}`;

interface Relay {
  path: string;
  upstream: WebSocket | null;
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: PORT,
  development: { hmr: true },
  routes: { "/": page },
  fetch(request, self) {
    const { pathname, search } = new URL(request.url);
    const path = `${pathname}${search}`;
    if (pathname === "/ws" && self.upgrade(request, { data: { path, upstream: null } })) return;
    const headers = new Headers(request.headers);
    // The gateway serves pages of its own origin only.
    for (const name of ["host", "origin", "accept-encoding"]) headers.delete(name);
    return fetch(`http://${origin}${path}`, { method: request.method, headers, body: request.body });
  },
  websocket: {
    data: {} as Relay,
    open(socket) {
      const upstream = new WebSocket(`ws://${origin}${socket.data.path}`);
      upstream.onmessage = ({ data }) => void socket.send(data);
      upstream.onclose = () => socket.close();
      socket.data.upstream = upstream;
    },
    message() {},
    close: (socket) => socket.data.upstream?.close(),
  },
});

console.log(`The dashboard: http://127.0.0.1:${server.port}/`);
console.log(`The gateway in the sandbox: http://${origin}/, in the namespace ${lab.namespaces.gateway}`);
console.log("Ctrl-C ends both.");

const { promise, resolve } = Promise.withResolvers<void>();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve());
await promise;
await server.stop(true);
await lab.close();
process.exit(0);

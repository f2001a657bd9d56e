import { answerFor } from "./dns.ts";
import { INTERNET, ROUTER, VPN } from "./topology.ts";

const NAMES: Readonly<Record<string, string>> = {
  [ROUTER.public4]: "the home router: outside the tunnel",
  [VPN.vpn1.v4]: "VPN server 1",
  [VPN.vpn1.v6]: "VPN server 1",
  [VPN.vpn2.v4]: "VPN server 2",
  [VPN.vpn2.v6]: "VPN server 2",
};

/** Serves as the internet, in its namespace, until it is killed; prints `ready` once everything listens. */
export async function serveInternet(): Promise<void> {
  Bun.serve({
    hostname: "::",
    port: 80,
    fetch: (request, server) => page(request, server.requestIP(request)?.address),
  });
  for (const hostname of [INTERNET.dns4, INTERNET.dns6]) {
    await serveNames(hostname);
  }
  for (const hostname of [INTERNET.host4, INTERNET.host6]) {
    await serveEcho(hostname);
  }
  console.log("ready");
}

/** `/` is for people, `/ip` for programs. */
function page(request: Request, address = ""): Response {
  const visitor = address.replace(/^::ffff:/, "");
  if (new URL(request.url).pathname === "/ip") return new Response(`${visitor}\n`);
  return new Response(`You come from ${visitor} (${NAMES[visitor] ?? "outside the tunnel"})\n`);
}

/**
 * One socket for each address, because a socket on all addresses could answer from an address other than the one that
 * was asked.
 */
async function serveNames(hostname: string): Promise<void> {
  await Bun.udpSocket({
    hostname,
    port: 53,
    socket: {
      data(socket, message, port, address) {
        const answer = answerFor(message, address);
        if (answer !== null) socket.send(answer, port, address);
      },
      error: outlive,
    },
  });
  Bun.listen<{ received: Buffer }>({
    hostname,
    port: 53,
    socket: {
      open(socket) {
        socket.data = { received: Buffer.alloc(0) };
      },
      // RFC 1035, section 4.2.2: over TCP, a length of two bytes precedes each message.
      data(socket, chunk) {
        const received = Buffer.concat([socket.data.received, chunk]);
        socket.data.received = received;
        if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
        const answer = answerFor(received.subarray(2), socket.remoteAddress);
        if (answer === null) return;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        socket.end(Buffer.concat([length, answer]));
      },
    },
  });
}

/** RFC 862: the echo of UDP and TCP port 7. */
async function serveEcho(hostname: string): Promise<void> {
  await Bun.udpSocket({
    hostname,
    port: 7,
    socket: {
      data(socket, message, port, address) {
        socket.send(message, port, address);
      },
      error: outlive,
    },
  });
  Bun.listen({
    hostname,
    port: 7,
    socket: {
      data(socket, chunk) {
        socket.write(chunk);
      },
    },
  });
}

/** Bun reports ICMP errors for clients that have gone, and exits if there is no handler. */
function outlive(): void {}

import { INTERNET } from "../../../src/sandbox/topology.ts";
import { openUdp } from "../../../src/system/udp-socket.ts";

/** Echo and discard: nothing else in a lab without traffic sends to them. */
export const INSIDER_PORTS = { unbound: 7, bound: 9, web: 80 };
/** Begins the line that says what came of it. */
export const INSIDER_SAYS = "insider: ";

/** What the service loads before itself: at each SIGUSR2 its own process sends to the internet, and the tunnel is not asked. */
process.on("SIGUSR2", () => void send());

async function send(): Promise<void> {
  const address = INTERNET.host4;
  const unbound = await Bun.udpSocket({ socket: { error: () => {} } });
  attempt(() => unbound.send("past the tunnel", INSIDER_PORTS.unbound, address));
  const link = process.argv[process.argv.lastIndexOf("--uplink") + 1] ?? "";
  const bound = openUdp({ link, peer: { address, port: INSIDER_PORTS.bound } });
  bound.send(new TextEncoder().encode("past the tunnel"));
  const page = await fetch(`http://${address}/`, {
    keepalive: false,
    signal: AbortSignal.timeout(5_000),
  }).then(
    (answer) => answer.text(),
    () => "no answer",
  );
  unbound.close();
  bound.close();
  console.log(`${INSIDER_SAYS}${page.trim()}`);
}

/** A refusal is an answer too. */
function attempt(work: () => unknown): void {
  try {
    work();
  } catch {}
}

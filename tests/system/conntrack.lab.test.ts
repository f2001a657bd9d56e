import { afterAll, beforeAll, expect, test } from "bun:test";
import { commandIn } from "../../src/sandbox/namespace.ts";
import type { Connection, Direction } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { ip } from "../fake/address.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";

const [HERE, THERE] = [`ct${process.pid}-here`, `ct${process.pid}-there`];
const [here, there, machine] = [new NamespaceHost(HERE), new NamespaceHost(THERE), new LinuxHost()];
const ADDRESSES = {
  4: [ip("192.168.7.1"), ip("192.168.7.2")],
  6: [ip("fd00:7::1"), ip("fd00:7::2")],
} as const;
const PORT = 4_000;
/** Tracks connections, each in the zone of its port; a zone of one direction, too. */
const TABLE = `table inet tracked {
  chain prerouting { type filter hook prerouting priority raw; udp sport 9 ct zone set 9; udp dport 7 ct original zone set 7; }
  chain output { type filter hook output priority raw; udp dport 9 ct zone set 9; }
  chain input { type filter hook input priority filter; tcp dport ${PORT} tcp flags & (syn | ack) == ack counter name answers; }
  chain aside { type filter hook output priority filter; ct state invalid counter name invalid; }
  counter answers { }
  counter invalid { }
}
`;
const SERVER = `for (const hostname of ["192.168.7.1", "fd00:7::1"]) Bun.listen({ hostname, port: ${PORT}, socket: { data() {} } });
console.log("ready"); setInterval(() => {}, 1e6);`;
const CLIENT = `for (const hostname of ["192.168.7.1", "fd00:7::1"]) await Bun.connect({ hostname, port: ${PORT}, socket: { data() {} } });
console.log("ready"); setInterval(() => {}, 1e6);`;
const children: Bun.Subprocess[] = [];

beforeAll(async () => {
  for (const name of [HERE, THERE]) await machine.run(["ip", "netns", "add", name]);
  await machine.run(`ip link add lan0 netns ${HERE} type veth peer lan0 netns ${THERE}`.split(" "));
  for (const [host, number] of [
    [here, 0],
    [there, 1],
  ] as const) {
    await host.run(["ip", "address", "add", `${ADDRESSES[4][number]}/24`, "dev", "lan0"]);
    await host.run(["ip", "address", "add", `${ADDRESSES[6][number]}/64`, "dev", "lan0", "nodad"]);
    await host.run(["ip", "link", "set", "dev", "lan0", "up"]);
  }
  await here.run(["nft", "-f", "-"], { stdin: TABLE });
  for (const [name, program] of [
    [HERE, SERVER],
    [THERE, CLIENT],
  ] as const) {
    const child = Bun.spawn(commandIn(name, [process.execPath, "-e", program]), { stdout: "pipe" });
    children.push(child);
    await child.stdout.getReader().read();
  }
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const name of [HERE, THERE]) await machine.run(["ip", "netns", "delete", name]);
});

async function tracked(): Promise<Connection[]> {
  const all: Connection[] = [];
  await here.endConnections((connection) => {
    all.push(connection);
    return false;
  });
  return all;
}

const tcp = (all: readonly Connection[]) => all.filter(({ protocol }) => protocol === 6);

const reversed = ({ source, sourcePort, destination, destinationPort }: Direction): Direction => ({
  ...{ source: destination, sourcePort: destinationPort },
  ...{ destination: source, destinationPort: sourcePort },
});

async function counted(name: string): Promise<number> {
  const listing = await here.run(["nft", "list", "counter", "inet", "tracked", name]);
  return Number(/packets (\d+)/.exec(listing)?.[1]);
}

/** The longest time between two turns of the event loop while some work is under way, in milliseconds. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const turn = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(turn, 1);
  await work();
  clearInterval(timer);
  turn();
  return longest;
}

test("connections of both families are read with their addresses, ports, zones and state", async () => {
  const all = tcp(await tracked());
  for (const family of [4, 6] as const) {
    const [own, other] = ADDRESSES[family];
    const one = all.find(({ original }) => original.destination === own);
    const original = {
      source: other,
      sourcePort: expect.any(Number),
      destination: own,
      destinationPort: PORT,
    };
    expect(one).toMatchObject({ zone: 0, isOpen: true, isRedirected: false, original });
    expect(one?.reply).toEqual(reversed(one?.original as Direction));
  }
});

test("only the connections that are named are ended, also in a zone, or in one of one direction", async () => {
  const peer = { address: ADDRESSES[4][1], port: 9 };
  const socket = await here.openUdp({ link: "lan0", peer });
  const other = await here.openUdp({ link: "lan0", peer: { ...peer, port: 10 } });
  const sender = await there.openUdp({ link: "lan0", peer: { address: ADDRESSES[4][0], port: 7 } });
  const deaf = await here.openUdp({ link: "lan0", own: { address: ADDRESSES[4][0], port: 7 } });
  for (const each of [socket, other, sender]) each.send(new TextEncoder().encode("hello"));
  const zoneOf = async (port: number) =>
    (await tracked()).find(({ protocol, original }) => protocol === 17 && original.destinationPort === port)
      ?.zone;
  await until(async () => (await zoneOf(7)) !== undefined);
  expect([await zoneOf(9), await zoneOf(10), await zoneOf(7)]).toEqual([9, 0, 7]);
  const ended = await here.endConnections(({ zone }) => zone !== 0);
  expect(ended.map(({ zone }) => zone).sort()).toEqual([7, 9]);
  expect([await zoneOf(9), await zoneOf(10), await zoneOf(7)]).toEqual([undefined, 0, undefined]);
  for (const each of [socket, other, sender, deaf]) each.close();
});

test("thousands of connections are ended without holding up the event loop", async () => {
  const peers = Array.from({ length: 3_000 }, (_, number) => 20_000 + number);
  for (const port of peers) {
    const socket = await here.openUdp({ link: "lan0", peer: { address: ADDRESSES[4][1], port } });
    socket.send(new Uint8Array(1));
    socket.close();
  }
  let ended: Connection[] = [];
  const longest = await longestTurn(async () => {
    ended = await here.endConnections(({ original }) => original.destinationPort >= 20_000);
  });
  expect(ended.length).toBe(peers.length);
  console.log(`${peers.length} connections ended; the longest turn took ${longest.toFixed(1)} ms`);
  expect(tcp(await tracked()).length).toBe(2);
});

test("a look does not hold up the event loop while the kernel frees what a change has removed", async () => {
  await here.run(["nft", "-f", "-"], { stdin: "table inet own { set addresses { type ipv4_addr; }; }\n" });
  const change = (verb: "add" | "delete") =>
    here.changeElements([
      { verb, table: "own", set: "addresses", type: "ipv4_addr", elements: ["192.0.2.7"] },
    ]);
  const look = async () => {
    await change("add");
    await change("delete");
    return longestTurn(tracked);
  };
  // The end of a socket would wait 8 ms and more, each time. Others may be busy on this machine.
  await until(async () => (await look()) < 4);
});

test("a challenged end answers, and connection tracking takes no notice of the question", async () => {
  const all = tcp(await tracked());
  for (const { original } of all) {
    const before = await counted("answers");
    await here.challenge([reversed(original)]);
    await until(async () => (await counted("answers")) > before);
  }
  expect(tcp(await tracked())).toEqual(all);
});

test("nothing is tracked for a challenge of a connection that has been ended", async () => {
  const [one] = tcp(await here.endConnections(({ protocol }) => protocol === 6));
  const before = await counted("invalid");
  await here.challenge([{ ...reversed(one?.original as Direction), destinationPort: 9 }]);
  expect(await counted("invalid")).toBe(before + 1);
  expect(tcp(await tracked()).filter(({ original }) => original.destinationPort === 9)).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Datagram, UdpSocket } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";

const [HERE, THERE] = [`pc${process.pid}-here`, `pc${process.pid}-there`];
const [here, there, machine] = [new NamespaceHost(HERE), new NamespaceHost(THERE), new LinuxHost()];
const [OWN, OTHER] = ["192.168.7.1", "192.168.7.2"];

/** Two cables between them. */
beforeAll(async () => {
  for (const name of [HERE, THERE]) await machine.run(["ip", "netns", "add", name]);
  for (const [link, net] of [
    ["lan0", "192.168.7"],
    ["up0", "192.168.8"],
  ] as const) {
    const ends = ["type", "veth", "peer", link, "netns", THERE];
    await machine.run(["ip", "link", "add", link, "netns", HERE, ...ends]);
    for (const [host, number] of [
      [here, 1],
      [there, 2],
    ] as const) {
      await host.run(["ip", "address", "add", `${net}.${number}/24`, "dev", link]);
      await host.run(["ip", "link", "set", "dev", link, "up"]);
    }
  }
});
afterAll(async () => {
  for (const name of [HERE, THERE]) await machine.run(["ip", "netns", "delete", name]);
});

async function next(socket: UdpSocket): Promise<Datagram[] | "refused"> {
  let received: Datagram[] | "refused" = [];
  await until(() => {
    received = socket.received();
    return received === "refused" || received.length > 0;
  });
  return received;
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("a request reaches the server of its link, and the answer the sender", async () => {
  const server = await here.openUdp({ link: "lan0", own: { address: OWN, port: 5351 } });
  const client = await there.openUdp({ link: "lan0", peer: { address: OWN, port: 5351 } });
  client.send(bytes("request"));
  const [request] = (await next(server)) as Datagram[];
  expect(request).toMatchObject({ address: OTHER, bytes: bytes("request") });
  server.send(bytes("answer"), { address: OTHER, port: request?.port ?? 0 });
  expect(await next(client)).toEqual([{ address: OWN, port: 5351, bytes: bytes("answer") }]);
  server.close();
  client.close();
});

test("a server hears nothing that comes in by another link, even to its own address", async () => {
  const server = await here.openUdp({ link: "lan0", own: { address: OWN, port: 5351 } });
  await there.run(["ip", "route", "add", `${OWN}/32`, "dev", "up0", "via", "192.168.8.1"]);
  const wrong = await there.openUdp({ link: "up0", peer: { address: OWN, port: 5351 } });
  wrong.send(bytes("by the uplink"));
  await there.run(["ip", "route", "delete", `${OWN}/32`]);
  const right = await there.openUdp({ link: "lan0", peer: { address: OWN, port: 5351 } });
  right.send(bytes("by the LAN"));
  expect(await next(server)).toMatchObject([{ bytes: bytes("by the LAN") }]);
  for (const socket of [server, wrong, right]) socket.close();
});

test("a client learns that nothing listens, and hears only its peer", async () => {
  const client = await there.openUdp({ link: "lan0", peer: { address: OWN, port: 5351 } });
  client.send(bytes("request"));
  expect(await next(client)).toBe("refused");
  const server = await here.openUdp({ link: "lan0", own: { address: OWN, port: 5351 } });
  client.send(bytes("again"));
  const [request] = (await next(server)) as Datagram[];
  const stranger = await here.openUdp({ link: "lan0", own: { address: OWN, port: 5352 } });
  for (const socket of [stranger, server])
    socket.send(bytes(socket === server ? "answer" : "lie"), { address: OTHER, port: request?.port ?? 0 });
  expect(await next(client)).toMatchObject([{ bytes: bytes("answer") }]);
  for (const socket of [client, server, stranger]) socket.close();
});

test("an announcement reaches the hosts of the link without any route", async () => {
  const server = await here.openUdp({ link: "lan0", own: { address: OWN, port: 5351 } });
  const listener = await there.openUdp({ link: "lan0", own: { address: "224.0.0.1", port: 5350 } });
  await here.run(["ip", "rule", "add", "priority", "10", "to", "224.0.0.0/4", "unreachable"]);
  server.send(bytes("news"), { address: "224.0.0.1", port: 5350 });
  expect(await next(listener)).toEqual([{ address: OWN, port: 5351, bytes: bytes("news") }]);
  server.close();
  listener.close();
});

test("a mark decides the route", async () => {
  const peer = await there.openUdp({ link: "lan0", own: { address: OTHER, port: 9 } });
  await here.run(["ip", "address", "add", "192.168.7.9/24", "dev", "lan0"]);
  const route = ["to", OTHER, "dev", "lan0", "src", "192.168.7.9", "table", "100"];
  await here.run(["ip", "route", "add", ...route]);
  await here.run(["ip", "rule", "add", "priority", "5", "fwmark", "0x114e", "lookup", "100"]);
  for (const [mark, address] of [
    [0x104e, OWN],
    [0x114e, "192.168.7.9"],
  ] as const) {
    const socket = await here.openUdp({ link: "lan0", mark, peer: { address: OTHER, port: 9 } });
    socket.send(bytes("x"));
    expect(await next(peer)).toMatchObject([{ address }]);
    socket.close();
  }
  peer.close();
});

test("a missing link or address, and a port that is in use, are errors", async () => {
  const own = { address: OWN, port: 5351 };
  await expect(here.openUdp({ link: "wlan0", own })).rejects.toThrow(
    "no UDP socket can listen on 192.168.7.1 port 5351 by wlan0",
  );
  await expect(here.openUdp({ link: "lan0", own: { ...own, address: OTHER } })).rejects.toThrow(
    "no UDP socket can listen on 192.168.7.2 port 5351 by lan0",
  );
  const first = await here.openUdp({ link: "lan0", own });
  await expect(here.openUdp({ link: "lan0", own })).rejects.toThrow("no UDP socket can listen on");
  first.close();
});

import { beforeEach, expect, test } from "bun:test";
import { RemoteLink } from "../../src/remote/link.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { cidr } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";

const { privateKey } = generateKeyPair();
const WANTED = { privateKey, port: 51_820, addresses: [cidr("10.9.0.1/24")], mtu: 1340, peers: [] };

let host: FakeHost;
let link: RemoteLink;
beforeEach(() => {
  host = new FakeHost();
  host.native = false;
  link = new RemoteLink(host, host.userspace, "wgr");
});

/** What is asked of the program while `isMute` says so has no answer in time, as on a busy machine. */
function muteWhile(isMute: () => boolean): void {
  const exchange = host.exchange.bind(host);
  host.exchange = async (path, request) => (isMute() ? null : exchange(path, request));
}

const made = () => host.commands.filter((command) => command === "wireguard-go wgr").length;
const exists = () => host.links.has("wgr");

test("an interface whose program is too busy to answer is not made a second time", async () => {
  await link.apply(WANTED);
  let unanswered = 0;
  muteWhile(() => {
    unanswered += 1;
    return unanswered <= 3;
  });
  expect(await link.apply(WANTED)).toBe(false);
  expect([unanswered > 3, made()]).toEqual([true, 1]);
});

test("an interface that never answers is left as it is, and the error names it", async () => {
  await link.apply(WANTED);
  muteWhile(() => true);
  await expect(link.apply(WANTED)).rejects.toThrow("the interface wgr does not answer");
  expect([exists(), made()]).toEqual([true, 1]);
});

test("an interface of the gateway's own is removed even if its program does not answer", async () => {
  await link.apply(WANTED);
  muteWhile(() => true);
  await link.close();
  expect(exists()).toBe(false);
});

test("a program that still answers after its interface was deleted is not taken for one", async () => {
  await link.apply(WANTED);
  const answer = await host.exchange("/var/run/wireguard/wgr.sock", "get=1\n\n");
  await link.close();
  const exchange = host.exchange.bind(host);
  let late = 1;
  host.exchange = async (path, request) => {
    late -= 1;
    return late >= 0 ? answer : exchange(path, request);
  };
  expect(await link.apply(WANTED)).toBe(true);
  expect([exists(), made()]).toEqual([true, 2]);
});

test("a program that does not answer has told of no devices, which is not the same as none", async () => {
  await link.apply(WANTED);
  expect(await link.peers()).toEqual([]);
  muteWhile(() => true);
  expect(await link.peers()).toBeNull();
});

test("another program's interface with this name is not removed", async () => {
  host.native = true;
  await host.run(["ip", "-batch", "-"], { stdin: "link add dev wgr type wireguard\n" });
  await host.run(["wg", "setconf", "wgr", "/dev/stdin"], {
    stdin: `[Interface]\nPrivateKey = ${privateKey}\nFwMark = 0x7\n`,
  });
  await link.close();
  expect(exists()).toBe(true);
});

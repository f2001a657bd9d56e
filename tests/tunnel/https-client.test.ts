import { expect } from "bun:test";
import { pinRelease } from "../../src/app/service.ts";
import { cidrs, ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, kernelState, ONE, server, stoodAlways } from "./gateway.ts";

const { test } = slow;

const LIST = { url: "https://list.test/servers", method: "GET", headers: {} } as const;
const PAGE = { status: 200, headers: {}, body: "[]" };

let gateway: Gateway;
/** What was asked over HTTPS, with the kernel's holes at that moment. */
let asked: { event: string; firewall: string[]; rules: string[] }[];

async function prepare(directory: string): Promise<void> {
  gateway = await Gateway.started(directory);
  const { host } = gateway;
  host.files.set("/etc/resolv.conf", "nameserver 192.0.2.53\n");
  host.names.set("list.test", ["198.51.100.7", "2001:db8::7"]);
  host.pages.set(LIST.url, PAGE);
  asked = [];
  host.onEvent = (event) => {
    if (event.startsWith("https ")) asked.push({ event, firewall: holes(), rules: routes() });
  };
}

/** A test on a gateway of its own, whose kill switch stands all the time. */
function claim(name: string, work: () => Promise<void>): void {
  test(name, () =>
    inDirectory(async (directory) => {
      await prepare(directory);
      await work();
      expect(stoodAlways(gateway.host)).toBe(true);
    }),
  );
}

/** The rules of the table that accept TCP. */
function holes(): string[] {
  const lines = gateway.host.table?.split("\n") ?? [];
  return lines
    .filter((line) => /tcp sport .* accept/.test(line))
    .map((line) => line.trim().split(" comment")[0] ?? "");
}

function routes(): string[] {
  return [...gateway.host.rules["-4"], ...gateway.host.rules["-6"]].filter((rule) =>
    rule.includes("ipproto 6"),
  );
}

claim(
  "the operator's exemption is for one server, one port and one source port, and only for its moment",
  async () => {
    const before = kernelState(gateway.host);
    expect(await gateway.tunnels.httpsClient.send(LIST)).toEqual(PAGE);
    const port = /from (\d+)$/.exec(asked[0]?.event ?? "")?.[1];
    expect(asked).toEqual([
      {
        event: `https https://list.test/servers at 198.51.100.7,2001:db8::7 from ${port}`,
        firewall: [
          `iifname "up0" ip saddr 198.51.100.7 tcp sport 443 tcp dport ${port} accept`,
          `iifname "up0" ip6 saddr 2001:db8::7 tcp sport 443 tcp dport ${port} accept`,
          `oifname "up0" ip daddr 198.51.100.7 tcp sport ${port} tcp dport 443 accept`,
          `oifname "up0" ip6 daddr 2001:db8::7 tcp sport ${port} tcp dport 443 accept`,
        ],
        rules: [
          `priority 30 to 198.51.100.7/32 ipproto 6 iif lo sport ${port} dport 443 lookup main`,
          `priority 30 to 2001:db8::7/128 ipproto 6 iif lo sport ${port} dport 443 lookup main`,
        ],
      },
    ]);
    expect(kernelState(gateway.host)).toBe(before);
    expect(gateway.log.at(-1)).toStartWith(
      "the operator's exemption: one connection to list.test (198.51.100.7, ",
    );
  },
);

claim("while a tunnel is up every request takes it, from its addresses, and nothing is opened", async () => {
  await gateway.controller.connect(ONE);
  const before = kernelState(gateway.host);
  await gateway.tunnels.httpsClient.send(LIST);
  await gateway.tunnels.httpsClient.sendInside(LIST);
  const event =
    "https https://list.test/servers at 198.51.100.7,2001:db8::7 from any port of 10.64.0.1,fd00:64::1";
  expect(asked).toEqual([
    { event, firewall: [], rules: [] },
    { event, firewall: [], rules: [] },
  ]);
  expect(kernelState(gateway.host)).toBe(before);
});

claim("without a tunnel nothing is sent except by the operator's exemption", async () => {
  await expect(gateway.tunnels.httpsClient.sendInside(LIST)).rejects.toThrow(
    "there is no tunnel to send this through",
  );
  expect(asked).toEqual([]);
});

claim("another program is told how to send a request inside, or on the LAN, and never outside", async () => {
  const { httpsClient } = gateway.tunnels;
  await expect(httpsClient.pinWithin(LIST)).rejects.toThrow("there is no tunnel to send this through");
  await gateway.controller.connect(ONE);
  expect(await httpsClient.pinWithin(LIST)).toEqual({
    ...LIST,
    addresses: ["198.51.100.7", "2001:db8::7"],
    ownAddresses: ["10.64.0.1", "fd00:64::1"],
  });
  const near = { ...LIST, url: "https://127.0.0.1/servers" };
  expect(await httpsClient.pinWithin(near)).toEqual({ ...near, addresses: [ip("127.0.0.1")] });
  expect(asked).toEqual([]);
});

claim("with the kill switch off, `update` goes outside only if no tunnel carries traffic", async () => {
  const { controller, host } = gateway;
  const { httpsClient } = gateway.tunnels;
  const killSwitch = { isWanted: false };
  const pinned = () => pinRelease({ controller, killSwitch, httpsClient }, LIST);
  expect(await pinned()).toBeNull();
  await controller.connect(ONE);
  expect(await pinned()).toMatchObject({ ownAddresses: ["10.64.0.1", "fd00:64::1"] });
  host.silent.add("192.0.2.1:51820");
  await host.sleep(181_000);
  await gateway.look().catch(() => {});
  expect(controller.state.name).toBe("reconnecting");
  await expect(pinned()).rejects.toThrow("there is no tunnel to send this through; connect first");
});

claim("what is asked while a tunnel is on its way goes through it once it is up", async () => {
  const connecting = gateway.controller.connect(ONE);
  await gateway.tunnels.httpsClient.send(LIST);
  await connecting;
  expect(asked.map(({ firewall }) => firewall)).toEqual([[]]);
  gateway.controller.lost("for the test");
  const redialing = gateway.controller.redial(ONE, new AbortController().signal);
  await gateway.tunnels.httpsClient.send(LIST);
  await redialing;
  expect(asked.map(({ firewall }) => firewall)).toEqual([[], []]);
});

claim("a tunnel that does not lead to the server carries nothing to it", async () => {
  await gateway.controller.connect(server("home", 5, { allowedIps: cidrs("10.0.0.0/8", "::/0") }));
  await gateway.tunnels.httpsClient.send(LIST);
  expect(asked.map(({ event }) => event)).toEqual([
    "https https://list.test/servers at 2001:db8::7 from any port of 10.64.0.5,fd00:64::5",
  ]);
  gateway.host.names.set("list.test", ["198.51.100.7"]);
  const why = "the tunnel does not lead to list.test";
  await expect(gateway.tunnels.httpsClient.send(LIST)).rejects.toThrow(why);
});

claim(
  "addresses go into the exemption once each, in the kernel's spelling, and not by the hundred",
  async () => {
    const odd = ["2001::1:0:0:0:1", "2001:0:0:1::1", "198.51.100.7", "198.51.100.7", "::ffff:198.51.100.9"];
    const many = Array.from({ length: 300 }, (_, index) => `198.51.100.${index % 250}`);
    gateway.host.names.set("list.test", [...odd, ...many]);
    await gateway.tunnels.httpsClient.send(LIST);
    const [first, second, ...others] = asked[0]?.rules.map((rule) => rule.split(" ")[3]) ?? [];
    expect(asked[0]?.rules).toHaveLength(8);
    expect([first, second, others.length]).toEqual(["198.51.100.7/32", "198.51.100.0/32", 6]);
    expect(asked[0]?.rules.at(-1)).toContain("to 2001:0:0:1::1/128 ");
  },
);

for (const [what, end, why] of [
  ["a stop of the service", () => gateway.controller.stop(), "the service stops"],
  ["a disconnect", () => gateway.controller.disconnect(), "interrupted by a disconnect"],
] as const) {
  claim(`${what} ends a request that nobody answers, and removes its exemption`, async () => {
    const before = kernelState(gateway.host);
    gateway.host.pages.clear();
    const sent = gateway.tunnels.httpsClient.send(LIST);
    sent.catch(() => {});
    await gateway.host.pass(0);
    expect(asked).toHaveLength(1);
    await end();
    await expect(sent).rejects.toThrow(why);
    expect(kernelState(gateway.host)).toBe(before);
  });
}

claim("a request whose exemption the kernel refuses is not sent", async () => {
  gateway.host.fails = () => (gateway.host.commands.at(-1)?.startsWith("nft -e") ? "before" : null);
  await expect(gateway.tunnels.httpsClient.send(LIST)).rejects.toThrow();
  expect(asked).toEqual([]);
});

const NEAR = { url: "http://192.168.7.5:8080/message", method: "POST", headers: {}, body: "{}" } as const;

claim("the LAN and this machine get a notification directly, whether or not a tunnel is up", async () => {
  const { httpsClient } = gateway.tunnels;
  for (const url of [NEAR.url, "https://192.168.7.5/", "http://127.0.0.1:80/x", "http://[::1]/"]) {
    gateway.host.pages.set(url, PAGE);
    expect(httpsClient.isOpenTo({ url })).toBe(true);
    expect(await httpsClient.sendWithin({ ...NEAR, url })).toEqual(PAGE);
  }
  expect(asked.map(({ event, ...holes }) => [event, holes])).toEqual(
    [
      "https http://192.168.7.5:8080/message at 192.168.7.5 from any port",
      "https https://192.168.7.5/ at 192.168.7.5 from any port",
      "https http://127.0.0.1:80/x at 127.0.0.1 from any port",
      "https http://[::1]/ at ::1 from any port",
    ].map((event) => [event, { firewall: [], rules: [] }]),
  );
});

claim("anything else gets it through the tunnel or not at all, and never in the clear", async () => {
  const { httpsClient } = gateway.tunnels;
  const far = { ...LIST, method: "POST", body: "{}" } as const;
  const elsewhere = { ...NEAR, url: "http://192.168.99.5:8080/message" } as const;
  gateway.host.pages.set(elsewhere.url, PAGE);
  expect(httpsClient.isOpenTo(far)).toBe(false);
  await expect(httpsClient.sendWithin(far)).rejects.toThrow("there is no tunnel to send this through");
  await gateway.controller.connect(ONE);
  expect(httpsClient.isOpenTo(far)).toBe(true);
  await expect(httpsClient.sendWithin(elsewhere)).rejects.toThrow("192.168.99.5:8080 is not on the LAN now");
  expect(asked).toEqual([]);
  await httpsClient.sendWithin(far);
  expect(asked.map(({ event }) => event)).toEqual([
    "https https://list.test/servers at 198.51.100.7,2001:db8::7 from any port of 10.64.0.1,fd00:64::1",
  ]);
});

claim(
  "the gateway has an address in the tunnel for what the tunnel leads to, and for nothing else",
  async () => {
    const { httpsClient } = gateway.tunnels;
    const allowedIps = cidrs("192.0.2.0/24", "2001:db8::/32");
    const narrow = server("narrow", 4, { allowedIps });
    const addresses = ["192.0.2.77", "198.51.100.77", "2001:db8::77", "2001:db9::77"].map((text) => ip(text));
    const own = () => addresses.map((address) => httpsClient.ownAddressTo(address));
    expect(own()).toEqual([null, null, null, null]);
    await gateway.controller.connect(narrow);
    expect(own()).toEqual([ip("10.64.0.4"), null, ip("fd00:64::4"), null]);
    narrow.config.interface.addresses = cidrs("10.64.0.4/32");
    await gateway.controller.disconnect();
    await gateway.controller.connect({ ...narrow, name: "without IPv6" });
    expect(own()).toEqual([ip("10.64.0.4"), null, null, null]);
  },
);

test("with the kill switch off and no tunnel, nothing leaves, not even a lookup", () =>
  inDirectory(async (directory) => {
    await prepare(directory);
    await gateway.operatorSwitch.turn(false);
    const events: string[] = [];
    gateway.host.onEvent = (event) => void events.push(event);
    await expect(gateway.tunnels.httpsClient.sendWithin(LIST)).rejects.toThrow("there is no tunnel");
    expect(events.filter((event) => /^(https|lookup)/.test(event))).toEqual([]);
  }));

import { afterEach, expect } from "bun:test";
import { formatCode, type HomeCode, parseCode } from "../../src/remote/home-code.ts";
import { exitKeys } from "../../src/remote/identity.ts";
import { generateKeyPair, publicKeyOf } from "../../src/wireguard/key.ts";
import { cidrs } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

let home: Home;
afterEach(() => home.stop());

const ENDPOINT = { host: "192.0.2.7", port: 51_820 };
const code = (change: Partial<HomeCode> = {}): string =>
  formatCode({
    ...{ id: "0123456789abcdef", isAnswer: false, key: generateKeyPair().publicKey, name: "cabin" },
    ...{ endpoint: ENDPOINT, prefixes: cidrs("192.168.66.0/24"), exit: null, exitKey: null },
    ...change,
  });

async function start(endpoint: string | null = null): Promise<void> {
  home = await Home.start();
  await home.parts.remoteAccess.turnOn({ endpoint, port: 51_820, through: null });
}

const take = (text: string, name?: string) =>
  home.send("POST", "/api/links/take", { code: text, ...(name !== undefined && { name }) });
const links = async () => (await home.send("GET", "/api/links")).json.links;

test("a home with addresses of this one's network is refused by name, and nothing changes", async () => {
  await start();
  const answer = await take(code({ prefixes: cidrs("192.168.0.0/16") }));
  expect([answer.status, answer.json.error]).toEqual([
    400,
    expect.stringContaining(
      "code: 192.168.0.0/16 of the other home is also here: the LAN's own 192.168.7.0/24 on lan0.",
    ),
  ]);
  expect(await links()).toEqual([]);
});

test("a home with more networks than a code tells makes none, and names the first that is left out", async () => {
  await start("home.example.org");
  expect((await home.send("POST", "/api/links", { name: "barn" })).status).toBe(200);
  const more = Array.from({ length: 16 }, (_, at) => `172.20.${at}.1/24`);
  home.host.links.get("lan0")?.addresses.push(...more);
  await home.parts.tunnels.machine.checkNetwork();
  const refused = [await home.send("POST", "/api/links", { name: "parents" }), await take(code())];
  for (const { status, json } of refused)
    expect([status, json.error]).toEqual([
      500,
      expect.stringMatching(
        /^a code tells 16 networks, and this home has 17: [0-9.]+\.0\/24 would be left out/,
      ),
    ]);
  // The code that was made before is still whole.
  expect((await links()).map((link: { code: string }) => parseCode(link.code).prefixes.length)).toEqual([16]);
});

test("the first code makes a link, an answer completes the one that waits for it, and no other is taken", async () => {
  await start();
  expect((await take(code({ isAnswer: true }))).json.error).toStartWith("code: answers no link");
  const first = code();
  expect((await take(first)).json).toMatchObject({ name: "cabin", code: expect.stringMatching(/^home1_/) });
  expect((await take(first)).json.error).toStartWith("code: is from this gateway, or from a home");
  expect((await take(code({ id: "fedcba9876543210" }), "barn")).json.error).toStartWith(
    "code: 192.168.66.0/24 of the other home is also here: 192.168.66.0/24 of the linked home cabin.",
  );
  expect((await take(code({ id: "1111111111111111", endpoint: null }), "shed")).json.error).toContain(
    "sudo portcullis remote on --endpoint home.example.org",
  );
  expect(await links()).toMatchObject([{ name: "cabin", prefixes: ["192.168.66.0/24"] }]);
});

test("a home that says its network twice, or has the key of a peer, does not upset what is there", async () => {
  await start("home.example.org");
  const key = generateKeyPair().publicKey;
  const add = (name: string, public_key: string) =>
    home.send("POST", "/api/remote/devices", { name, public_key });
  expect((await add("phone", key)).status).toBe(200);
  const taken = await take(code({ key }));
  expect([taken.status, taken.json.error]).toEqual([400, expect.stringContaining("is in use already")]);
  const cabin = generateKeyPair().publicKey;
  const twice = cidrs("192.168.66.0/24", "192.168.66.0/24");
  expect((await take(code({ key: cabin, prefixes: twice }))).status).toBe(200);
  expect(await links()).toMatchObject([{ prefixes: ["192.168.66.0/24"] }]);
  expect((await add("laptop", cabin)).json.error).toContain("is in use already");
  expect((await add("tablet", generateKeyPair().publicKey)).status).toBe(200);
});

test("both homes may leave by each other at once, by servers whose keys the codes have exchanged", async () => {
  await start("home.example.org");
  const [theirs, exitKey] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
  const exit = { addresses: cidrs("10.200.7.2/32"), dns: ["10.200.7.1"], mtu: 1_420 };
  const taken = await take(code({ key: theirs, exit, exitKey } as never));
  expect([taken.status, taken.json.error]).toEqual([200, undefined]);
  const { code: answer } = taken.json;
  const { exit: offered, exitKey: own } = parseCode(answer);
  expect([offered?.addresses.length, await links()]).toMatchObject([2, [{ exit: false }]]);
  expect((await home.send("PATCH", "/api/links/cabin", '{"exit":true}')).status).toBe(200);
  const { devices } = (await home.send("GET", "/api/remote")).json;
  expect(devices).toMatchObject([{ name: "cabin", public_key: exitKey, lan: false }]);
  const server = () => home.parts.catalogue.server("custom", "cabin")?.config;
  expect(publicKeyOf(server()?.interface.privateKey ?? "")).toBe(own ?? "");

  // The home that has begun has the same, once the answer has come.
  const begun = await home.send("POST", "/api/links", '{"name":"barn"}');
  const { id, exitKey: first } = parseCode(begun.json.code);
  const reply = {
    id,
    isAnswer: true,
    name: "",
    prefixes: cidrs("192.168.67.0/24"),
    exit,
    exitKey: generateKeyPair().publicKey,
  };
  expect((await take(code(reply as never))).status).toBe(200);
  const barn = home.parts.catalogue.server("custom", "barn")?.config;
  expect(publicKeyOf(barn?.interface.privateKey ?? "")).toBe(first ?? "");
  expect(await links()).toMatchObject([
    { name: "cabin", exit: true },
    { name: "barn", exit: false },
  ]);

  // The cabin's exit is the default one, which is a tunnel to the cabin from here on.
  expect(home.parts.remoteAccess.circles).toEqual([]);
  await home.send("POST", "/api/provider/custom");
  expect(await home.send("POST", "/api/connect", { server: "cabin" })).toMatchObject({ status: 200 });
  expect(home.parts.remoteAccess.circles).toEqual([{ home: "cabin", tunnel: "main" }]);
  const [cabin] = await links();
  expect(cabin?.error).toStartWith(
    "what it sends to the internet from here is refused: its exit, main, leads",
  );
});

test("a home whose exit has an address that is here, or a network of them, is refused, and nothing changes", async () => {
  await start("home.example.org");
  const phone = await home.send("POST", "/api/remote/devices", {
    ...{ name: "phone", public_key: generateKeyPair().publicKey },
  });
  const exit = { addresses: ["10.200.7.2/32"], dns: ["10.200.7.1"], mtu: 1_420 };
  const exits = [
    [{ ...exit, addresses: [phone.json.id] }, `code: ${phone.json.id} of the other home is also here`],
    [{ ...exit, dns: ["192.168.7.9"] }, "code: 192.168.7.9/32 of the other home is also here"],
    [{ ...exit, addresses: ["10.200.0.0/16"] }, "code: is not whole"],
  ] as const;
  for (const [each, error] of exits) {
    const answer = await take(
      code({ exit: { ...each, addresses: cidrs(...each.addresses), dns: [...each.dns] } }),
    );
    expect([answer.status, answer.json.error]).toEqual([400, expect.stringContaining(error)]);
  }
  expect([await links(), home.parts.catalogue.server("custom", "cabin")]).toEqual([[], null]);
});

test("a server that a kill has left of a link which was not saved does not stand in the way of its code", async () => {
  await start("home.example.org");
  const { store, catalogue } = home.parts;
  const key = generateKeyPair().publicKey;
  const own = exitKeys(store, "0123456789abcdef")?.privateKey ?? "";
  const left = { name: "cabin", public_key: key, private_key: own, endpoint: "192.0.2.7:51820" };
  catalogue.addCustom({ ...left, address: "10.200.7.2/32", dns: "10.200.7.1" });
  const exit = { addresses: cidrs("10.200.7.3/32"), dns: ["10.200.7.1"], mtu: 1_420 };
  const answer = await take(code({ key, exit, exitKey: generateKeyPair().publicKey }));
  expect([answer.status, answer.json.error]).toEqual([200, undefined]);
  expect(catalogue.server("custom", "cabin")?.config.interface.addresses).toEqual(exit.addresses);
});

test("why nothing passes by a link is told in English, and as what says it in another language", async () => {
  await start("home.example.org");
  await take(code());
  expect((await links())[0]).not.toHaveProperty("error_args");
  await home.parts.remoteAccess.turnOff();
  expect(await links()).toMatchObject([
    { error: expect.stringContaining("remote access is off"), error_args: { what: "remote_off" } },
  ]);
});

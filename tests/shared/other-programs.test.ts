import { expect, test } from "bun:test";
import { gluetunIn } from "../../src/shared/gluetun-file.ts";
import { wgEasyIn } from "../../src/shared/wg-easy.ts";

const KEY = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PUBLIC = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";

test("the clients of wg-easy are read with their keys, and those that cannot come over are named", () => {
  const client = (name: string, more: object = {}) => ({
    ...{
      id: name,
      name,
      address: "10.8.0.2",
      privateKey: KEY,
      publicKey: PUBLIC,
      preSharedKey: KEY,
      enabled: true,
    },
    ...more,
  });
  const file = {
    server: { privateKey: KEY, publicKey: PUBLIC, address: "10.8.0.1" },
    clients: {
      a: client("phone"),
      b: client("old phone", { enabled: false }),
      c: client("laptop", { privateKey: "" }),
    },
  };
  expect(wgEasyIn(JSON.stringify(file))).toEqual({
    clients: [{ name: "phone", privateKey: KEY }],
    left: ["old phone", "laptop"],
  });
});

test("other files are none of wg-easy", () => {
  for (const text of ["", "{", "null", "[]", "{}", '{"clients":{}}', '{"clients":[1]}', '{"clients":"x"}'])
    expect([text, wgEasyIn(text)]).toEqual([text, null]);
});

test("a compose file of gluetun becomes commands, in which there is no key", () => {
  const compose = `services:
  gluetun:
    image: qmcgaw/gluetun
    environment:
      - VPN_SERVICE_PROVIDER=private internet access
      - VPN_TYPE=wireguard
      - WIREGUARD_PRIVATE_KEY=${KEY}
      - "SERVER_COUNTRIES=Czech Republic,Norway"
      - FIREWALL_VPN_INPUT_PORTS=6881,51413
      - TZ=Europe/Prague
`;
  expect(gluetunIn(compose)).toEqual({
    provider: "private internet access",
    commands: [
      "sudo portcullis account login --provider pia",
      "portcullis connect 'Czech Republic'",
      "portcullis forward DEVICE:6881",
      "portcullis forward DEVICE:51413",
    ],
    hasAccount: true,
    left: ["WIREGUARD_PRIVATE_KEY"],
  });
});

test("an env file of gluetun does too, without quotes and comments", () => {
  const env =
    "VPN_SERVICE_PROVIDER=airvpn # mine\r\nSERVER_CITIES='St. John\u2019s, #1'  # home\r\nSERVER_NAMES=L'Aquila\r\n";
  expect(gluetunIn(env)).toEqual({
    provider: "airvpn",
    commands: ["portcullis connect 'L'\\''Aquila'"],
    hasAccount: false,
    left: ["SERVER_CITIES"],
  });
  expect(gluetunIn("[Interface]\nPrivateKey = x\n")).toBeNull();
});

test.each([
  "a; rm -rf ~ $(x)",
  "`x`",
  "$HOME",
  "--provider=x",
  "Oslo\u001b[2J",
  `Oslo${" ".repeat(80)}sudo sh x`,
  "Oslo\u202edus",
  "a\u2028b",
])("no command and no sentence has %j, which is no name of a place or a provider", (text) => {
  const { provider, commands, left } = gluetunIn(`VPN_SERVICE_PROVIDER=x\nSERVER_CITIES="${text}"`) ?? {};
  expect([provider, commands, left]).toEqual(["x", [], text.includes("\u2028") ? [] : ["SERVER_CITIES"]]);
  const named = gluetunIn(`SERVER_CITIES=Oslo\nVPN_SERVICE_PROVIDER="${text}"`);
  expect(named?.commands ?? []).not.toContainEqual(expect.stringContaining(text));
  expect(named?.provider ?? "your provider").toBe("your provider");
});

test("an account is none of the names that each object has", () => {
  for (const name of ["constructor", "__proto__", "toString"])
    expect(gluetunIn(`VPN_SERVICE_PROVIDER=${name}`)?.commands).toEqual([]);
});

test("of wg-easy, each client is told of, however many there are", () => {
  const clients = Array.from({ length: 400 }, (_, at) => ({ name: `${at}`, privateKey: at % 2 ? KEY : "" }));
  const found = wgEasyIn(JSON.stringify({ clients: Object.fromEntries(clients.entries()) }));
  expect([found?.clients.length, found?.left.length]).toEqual([200, 200]);
  expect(wgEasyIn(`{"clients":{"__proto__":{"name":"a","privateKey":"${KEY}"}}}`)?.clients).toHaveLength(1);
});

test("a line of blanks takes no longer than any other", () => {
  const start = process.cpuUsage();
  gluetunIn(`VPN_SERVICE_PROVIDER=a${" ".repeat(65_000)}b${" ".repeat(500)}`);
  expect(process.cpuUsage(start).user).toBeLessThan(100_000);
});

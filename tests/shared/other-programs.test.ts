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
    clients: [{ name: "phone", publicKey: PUBLIC, privateKey: KEY }],
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
    left: ["WIREGUARD_PRIVATE_KEY"],
  });
});

test("an env file of gluetun does too, and what would be more than a word for a shell is quoted", () => {
  const env = "VPN_SERVICE_PROVIDER=airvpn\nSERVER_CITIES='a; rm -rf ~ $(x)'\nDOT=off\n";
  expect(gluetunIn(env)).toEqual({
    provider: "airvpn",
    commands: ["portcullis connect 'a; rm -rf ~ $(x)'"],
    left: [],
  });
  expect(gluetunIn("[Interface]\nPrivateKey = x\n")).toBeNull();
});

import { expect, test } from "bun:test";
import { clientFile, clientFileName } from "../../src/remote/client-file.ts";

const ADDED = {
  id: "10.200.7.2/32",
  name: "phone",
  addresses: ["10.200.7.2/32", "fd00:200::2/128"],
  public_key: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
  preshared_key: "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=",
  endpoint: { host: "2001:db8::1", port: 51_820 },
  allowed_ips: ["0.0.0.0/0", "::/0"],
  home_ips: ["192.168.1.0/24", "fd00:1::/64"],
  dns: ["10.200.7.1", "fd00:200::1"],
  mtu: 1420,
};
const PRIVATE = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";

test("a device that sends everything has the gateway's resolver", () => {
  expect(clientFile(ADDED, PRIVATE, "everything")).toBe(`[Interface]
PrivateKey = ${PRIVATE}
Address = 10.200.7.2/32, fd00:200::2/128
DNS = 10.200.7.1, fd00:200::1
MTU = 1420

[Peer]
PublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
PresharedKey = FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=
Endpoint = [2001:db8::1]:51820
AllowedIPs = 0.0.0.0/0, ::/0
PersistentKeepalive = 25
`);
});

test("a device that sends only what is for home has the LAN's prefixes, and keeps its own resolver", () => {
  const file = clientFile(ADDED, PRIVATE, "home");
  expect(file).toContain("AllowedIPs = 192.168.1.0/24, fd00:1::/64\n");
  expect(file).not.toContain("DNS");
});

test("the file is called like the device, as far as a tunnel can be", () => {
  const names = ["phone", "Ada’s phone", "Téléphone d’été à Paris", "../../etc/passwd", "携帯", "a b\nc"];
  expect(names.map(clientFileName)).toEqual([
    "phone.conf",
    "Adasphone.conf",
    "TelephonedeteaP.conf",
    "etcpasswd.conf",
    "home.conf",
    "abc.conf",
  ]);
  for (const name of names) expect(clientFileName(name)).toMatch(/^[a-zA-Z0-9_=+.-]{1,15}\.conf$/);
});

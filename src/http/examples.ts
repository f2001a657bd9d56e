import type { CustomServer, ImportedConfig } from "../servers/schema.ts";

/** Example bodies of the documentation; they fit the sandbox of `portcullis try`. The keys are from wg(8). */
export const CONNECT_EXAMPLE = { server: "box-vpn-1" };

export const TUNNEL_EXAMPLE = { provider: "managed", server: "box-vpn-2" };

export const DEVICE_EXAMPLE = "02:00:00:00:00:20";

export const SCHEDULE_EXAMPLE = {
  device: DEVICE_EXAMPLE,
  exit: "blocked",
  at: "21:00",
  until: "07:00",
  days: ["sun", "mon", "tue", "wed", "thu"],
};

export const CUSTOM_EXAMPLE: CustomServer = {
  name: "home",
  endpoint: "203.0.113.11:51820",
  public_key: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
  private_key: "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
  address: "10.64.0.11/32",
  dns: "10.64.0.1",
  location: "Gothenburg, Sweden",
};

export const IMPORT_EXAMPLE: ImportedConfig = {
  name: "work",
  config: `[Interface]
PrivateKey = ${CUSTOM_EXAMPLE.private_key}
Address = 10.64.0.22/32
DNS = 10.64.0.1

[Peer]
PublicKey = ${CUSTOM_EXAMPLE.public_key}
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = 203.0.113.12:51820
`,
};

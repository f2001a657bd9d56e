import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { clientFile } from "../../../src/remote/client-file.ts";
import { ROUTER, UPLINK } from "../../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import { Phone } from "../home/phone.ts";
import type { Lab } from "../tools/lab.ts";
import type { Portcullis } from "./portcullis.ts";
import type { WgQuick } from "./wgquick.ts";

export const REMOTE_PORT = 51_820;
/** The remote devices of the side with `wg-quick`. */
const NETWORK = { prefix4: "10.99.0.0/24", gateway4: "10.99.0.1", phone4: "10.99.0.2" };
/** What `wg-quick` gives to packets that shall not take the tunnel, if nothing has taken it before. */
const OUTSIDE_THE_TUNNEL = 51_820;

/** A phone that comes in to the gateway. */
export async function cameToPortcullis({ lab, gateway }: Portcullis): Promise<Phone> {
  const { publicKey, privateKey } = generateKeyPair();
  await forwardPort(lab);
  must(await gateway.operate("remote", "on", "--endpoint", ROUTER.public4, "--port", `${REMOTE_PORT}`));
  const body = { name: "phone", public_key: publicKey };
  const { status, body: added } = await gateway.api("POST", "/api/remote/devices", body);
  if (status !== 200) throw new Error(added.error);
  const phone = await Phone.away(lab, 1);
  await phone.takes(clientFile(added, privateKey, "everything"));
  return phone;
}

/** A phone that comes in to a `wg-quick` that serves it, with the few rules that this takes. */
export async function cameToWgQuick({ lab }: WgQuick): Promise<Phone> {
  const [server, client] = [generateKeyPair(), generateKeyPair()];
  await forwardPort(lab);
  const path = join(lab.sandbox.directory, `${lab.sandbox.id}s.conf`);
  const file = `[Interface]
PrivateKey = ${server.privateKey}
Address = ${NETWORK.gateway4}/24
ListenPort = ${REMOTE_PORT}
FwMark = ${OUTSIDE_THE_TUNNEL}

[Peer]
PublicKey = ${client.publicKey}
AllowedIPs = ${NETWORK.phone4}/32
`;
  writeFileSync(path, file, { mode: 0o600 });
  const inside = (argv: string[], stdin?: string) => lab.exec(lab.namespaces.gateway, argv, stdin);
  must(await inside(["wg-quick", "up", path]));
  const masquerade = `oifname != "lan0" ip saddr ${NETWORK.prefix4} masquerade`;
  must(await inside(["nft", "-f", "-"], `add rule inet home outgoing ${masquerade}\n`));
  const phone = await Phone.away(lab, 1);
  await phone.takes(`[Interface]
PrivateKey = ${client.privateKey}
Address = ${NETWORK.phone4}/32

[Peer]
PublicKey = ${server.publicKey}
Endpoint = ${ROUTER.public4}:${REMOTE_PORT}
AllowedIPs = 0.0.0.0/0
`);
  return phone;
}

/** The home router's owner has entered the port. */
async function forwardPort(lab: Lab): Promise<void> {
  const rule = `iifname "wan0" udp dport ${REMOTE_PORT} dnat ip to ${UPLINK.gateway4}`;
  const text = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1\n${rule}\n}\n}\n`;
  must(await lab.exec(lab.namespaces.router, ["nft", "-f", "-"], text));
}

function must({ code, stderr }: { code: number; stderr: string }): void {
  if (code !== 0) throw new Error(stderr);
}

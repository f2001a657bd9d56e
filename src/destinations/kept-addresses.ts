import { type Static, Type } from "typebox";
import { parseAddress, parseHostName } from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { parseDeviceId } from "../devices/id.ts";
import type { NamedAddress } from "./named-addresses.ts";
import { MAX_ALL_ADDRESSES } from "./schema.ts";

/** In the folder that the service may write to while it runs. */
export const ADDRESSES_FILE = "portcullis-addresses.json";

const KeptAddresses = Type.Array(
  Type.Tuple([
    Type.String({ description: "the id of the rule" }),
    Type.String({ description: "the name of the rule" }),
    Type.String({ description: "an address that it has" }),
    Type.Union([Type.String(), Type.Null()], { description: "the device that has asked for it" }),
    Type.Integer({ minimum: 0, description: "for how many milliseconds" }),
  ]),
  { maxItems: MAX_ALL_ADDRESSES },
);

const known = checkerOf(KeptAddresses);

/** What the names of rules have, as the next service reads it. */
export function keptText(addresses: readonly NamedAddress[]): string {
  const rows: Static<typeof KeptAddresses> = addresses.map(({ rule, name, address, device, forMs }) => [
    rule,
    name,
    address,
    device,
    forMs,
  ]);
  return JSON.stringify(rows);
}

/** Empty if it cannot be read. */
export function keptIn(text: string | null): NamedAddress[] {
  return (known.read(text) ?? []).flatMap(([rule, name, address, device, forMs]) => {
    const [host, ip] = [parseHostName(name), parseAddress(address)];
    if (host === null || ip === null) return [];
    return [{ rule, name: host, address: ip, device: device === null ? null : parseDeviceId(device), forMs }];
  });
}

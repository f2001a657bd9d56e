import { publicKeyOf } from "../../wireguard/key.ts";
import type { ShownAccount } from "../provider.ts";
import type { MullvadDevice } from "./answers.ts";
import type { MullvadRegistration } from "./registration.ts";

/** Of what was asked of the provider: the answer, or why there is none. */
export type Outcome<T> = T | Error;

/** What the provider has for the registration's key; null where the account no longer has the device. */
type Provided = Pick<MullvadDevice, "publicKey"> | null;

export function shownAccount(
  registration: MullvadRegistration,
  paid: Outcome<string>,
  provided: Outcome<Provided>,
): ShownAccount {
  const { number, name, privateKey, addresses, created } = registration;
  return {
    number: `${"*".repeat(number.length - SHOWN_DIGITS)}${number.slice(-SHOWN_DIGITS)}`,
    device: name,
    public_key: publicKeyOf(privateKey),
    addresses,
    created,
    paid_until: paid instanceof Error ? null : paid,
    warnings: [...unknown(paid, provided), ...differing(registration, provided)],
  };
}

export const GONE =
  "the provider no longer has this device, somebody has removed it; log out, then log in again";

/** Enough to tell two accounts apart, and of no use to anybody else. */
const SHOWN_DIGITS = 4;

function unknown(...outcomes: Outcome<unknown>[]): string[] {
  const failed = outcomes.find((each) => each instanceof Error);
  return failed === undefined ? [] : [`not all is known: ${failed.message}`];
}

function differing({ privateKey, newKey }: MullvadRegistration, provided: Outcome<Provided>): string[] {
  if (newKey !== undefined) return ["a change of the key is not finished: portcullis account rotate-key"];
  if (provided instanceof Error) return [];
  if (provided === null) return [GONE];
  if (provided.publicKey === publicKeyOf(privateKey)) return [];
  return [
    "the provider has another key for this device, and connecting fails: portcullis account rotate-key",
  ];
}

import { publicKeyOf } from "../../wireguard/key.ts";
import { masked, type Outcome } from "../answers.ts";
import { refused } from "../refusals.ts";
import type { ShownAccount } from "../schema.ts";
import type { MullvadDevice } from "./answers.ts";
import type { MullvadRegistration } from "./registration.ts";

/** The provider's key for the registration; null if the account no longer has it. */
type Provided = Pick<MullvadDevice, "publicKey"> | null;

export function shownAccount(
  registration: MullvadRegistration,
  paid: Outcome<string>,
  provided: Outcome<Provided>,
): ShownAccount {
  const { number, name, privateKey, addresses, created } = registration;
  return {
    number: masked(number),
    device: name,
    public_key: publicKeyOf(privateKey),
    addresses,
    created,
    paid_until: paid instanceof Error ? null : paid,
    warnings: [...unknown(paid, provided), ...differing(registration, provided)],
  };
}

export const GONE = refused("registration_gone").message;

function unknown(...outcomes: Outcome<unknown>[]): string[] {
  const failed = outcomes.find((each) => each instanceof Error);
  return failed === undefined ? [] : [`incomplete: ${failed.message}`];
}

function differing({ privateKey, newKey }: MullvadRegistration, provided: Outcome<Provided>): string[] {
  if (newKey !== undefined)
    return ["a key rotation is unfinished; finish it with: portcullis account rotate-key"];
  if (provided instanceof Error) return [];
  if (provided === null) return [GONE];
  if (provided.publicKey === publicKeyOf(privateKey)) return [];
  return [
    "the provider has another key for this registration, so connecting fails; replace it with: portcullis account rotate-key",
  ];
}

import { LEAST_PASSPHRASE_CHARACTERS } from "../../shared/bounds.ts";
import type { Fault } from "../fault.ts";
import { say } from "../language.ts";

/** What is wrong with a new passphrase, which is typed twice. */
export function passphraseFault(given: { passphrase: string; again: string }): Fault<string> | null {
  const { passphrase, again } = given;
  if ([...passphrase].length < LEAST_PASSPHRASE_CHARACTERS)
    return {
      field: "passphrase",
      text: say("It must have at least {count, plural, one {# character} other {# characters}}.", {
        count: LEAST_PASSPHRASE_CHARACTERS,
      }),
    };
  return again === passphrase ? null : { field: "again", text: say("The two do not match.") };
}

import { InvalidArgumentError, Option } from "commander";
import { MANAGED, type Managed, PROVIDERS, type Provider, STORED } from "../servers/schema.ts";
import { PROVIDER_WORDS, providerIn } from "../shared/words.ts";

/** The words that the help shows; the interface's own names, `managed` and `custom`, are accepted too. */
export const PROVIDER_CHOICES: readonly string[] = PROVIDERS.map(wordOf);
export const STORED_CHOICES: readonly string[] = STORED.map(wordOf);
export const USE_CHOICES: readonly string[] = [...PROVIDER_CHOICES, ...MANAGED];

export function providerOption(choices: readonly string[]): Option {
  return new Option("--provider <provider>", "whose servers to look in (default: those in use)")
    .choices(choices)
    .argParser((text) => {
      const provider = providerIn(text);
      if (provider === null || !choices.includes(wordOf(provider))) throw unknownAmong(choices);
      return provider;
    });
}

/** The operand of `use`: a kind of servers, and for a company also its name. */
export interface Use {
  provider: Provider;
  managed?: Managed;
}

export function useIn(text: string): Use {
  const managed = MANAGED.find((name) => name === text);
  if (managed !== undefined) return { provider: "managed", managed };
  const provider = providerIn(text);
  if (provider === null) throw unknownAmong(USE_CHOICES);
  return { provider };
}

function wordOf(provider: Provider): string {
  return PROVIDER_WORDS[provider].word;
}

/** In the words of commander for a list of choices. */
function unknownAmong(choices: readonly string[]): InvalidArgumentError {
  return new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.`);
}

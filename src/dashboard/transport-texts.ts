import type { Transport, Wish } from "../servers/schema.ts";
import { pageTexts } from "../transports/texts.ts" with { type: "macro" };
import { say, translated } from "./language.ts";
import type { Option } from "./parts/option.ts";

const TEXTS = pageTexts();
const NAMES = Object.keys(TEXTS) as Wish[];

/** How a server may be asked to be reached. */
export const TRANSPORT_CHOICES: readonly Option<Transport>[] = [
  { value: "auto", text: say("Automatically") },
  ...NAMES.map((value) => ({ value, text: translated(TEXTS[value].title) })),
];

/** How a server is reached, after its port: "by LWO". */
export function byText(transport: Wish): string {
  return translated(TEXTS[transport].by ?? "");
}

/** Whether the server's configuration demands it. */
export function isDemanded(transport: Wish): boolean {
  return TEXTS[transport].isDemanded;
}

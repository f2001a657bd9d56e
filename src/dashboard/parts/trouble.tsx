import { sentenceFrom } from "../../shared/words.ts";
import { inItsWords } from "../codes.ts";
import { Icon } from "./icon.tsx";
import { Told } from "./told.tsx";

/** What is wrong with something, in the gateway's own words; nothing if nothing is. */
export function Trouble({ of, intro = "" }: { of: string | null; intro?: string }) {
  if (of === null) return null;
  return (
    <p class="outcome failed">
      <Icon name="warning" />{" "}
      <span>
        {intro} <Told text={inItsWords(sentenceFrom(of))} />
      </span>
    </p>
  );
}

import { sentenceFrom } from "../../shared/words.ts";
import { inItsWords } from "../codes.ts";
import { shown } from "../language.ts";

/** A text of the page. After its first line it is the gateway's own, in English: see `codes.ts`. */
export function Told({ text }: { text: string }) {
  const [own = "", ...its] = shown === "en" ? [text] : text.split("\n");
  if (its.length === 0) return <>{own}</>;
  return (
    <>
      {own}{" "}
      <span class="small" lang="en">
        {its.join("\n")}
      </span>
    </>
  );
}

/** What has happened, and the gateway's reason, if there is one. */
export function Happened({ text, why }: { text: string; why: string | null }) {
  return (
    <>
      <p>
        <Told text={text} />
      </p>
      {why !== null && (
        <p class="quiet">
          <Told text={inItsWords(sentenceFrom(why))} />
        </p>
      )}
    </>
  );
}

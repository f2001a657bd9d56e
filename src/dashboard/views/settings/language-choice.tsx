import { say } from "../../language.ts";
import { LANGUAGES } from "../../languages/all.ts";
import { Languages } from "../../parts/languages.tsx";

/** The language of the page in this browser. */
export function LanguageChoice() {
  if (LANGUAGES.length < 2) return null;
  return (
    <section class="card words">
      <h2>{say("Language")}</h2>
      <p>{say("The page uses this browser’s preferred language, or the one that you choose here.")}</p>
      <Languages />
    </section>
  );
}

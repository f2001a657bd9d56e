import { LANGUAGE_NAMES, type LanguageCode } from "../../shared/languages.ts";
import sentencesDe from "../../shared/sentences/sentences.de.json" with { type: "file" };
import sentencesEs from "../../shared/sentences/sentences.es.json" with { type: "file" };
import sentencesFr from "../../shared/sentences/sentences.fr.json" with { type: "file" };
import sentencesPt from "../../shared/sentences/sentences.pt.json" with { type: "file" };
import sentencesRu from "../../shared/sentences/sentences.ru.json" with { type: "file" };
import sentencesZh from "../../shared/sentences/sentences.zh.json" with { type: "file" };
import de from "./de.json" with { type: "file" };
import es from "./es.json" with { type: "file" };
import fr from "./fr.json" with { type: "file" };
import pt from "./pt.json" with { type: "file" };
import ru from "./ru.json" with { type: "file" };
import zh from "./zh.json" with { type: "file" };

/** A language of the page. */
export interface Language {
  code: LanguageCode;
  /** In itself, for whoever reads no other. */
  name: string;
  /** The address of its messages; English needs none. */
  catalogue: string | null;
  /** That of what the gateway tells, which the page can do without for a moment. */
  sentences: string | null;
}

/** A language is offered when its catalogue is complete, which tests/page/languages.test.ts checks. */
export const LANGUAGES: readonly Language[] = [
  offered("en", null, null),
  offered("de", de, sentencesDe),
  offered("es", es, sentencesEs),
  offered("fr", fr, sentencesFr),
  offered("pt", pt, sentencesPt),
  offered("ru", ru, sentencesRu),
  offered("zh", zh, sentencesZh),
];

/** What is imported as a file is its address. */
function offered(code: LanguageCode, catalogue: unknown, sentences: unknown): Language {
  return {
    code,
    name: LANGUAGE_NAMES[code],
    catalogue: catalogue as string | null,
    sentences: sentences as string | null,
  };
}

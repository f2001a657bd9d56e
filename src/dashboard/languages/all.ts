import { LANGUAGE_NAMES, type LanguageCode } from "../../shared/languages.ts";
import errorsDe from "../../shared/sentences/errors.de.json" with { type: "file" };
import errorsEs from "../../shared/sentences/errors.es.json" with { type: "file" };
import errorsFr from "../../shared/sentences/errors.fr.json" with { type: "file" };
import errorsPt from "../../shared/sentences/errors.pt.json" with { type: "file" };
import errorsRu from "../../shared/sentences/errors.ru.json" with { type: "file" };
import errorsZh from "../../shared/sentences/errors.zh.json" with { type: "file" };
import findingsDe from "../../shared/sentences/findings.de.json" with { type: "file" };
import findingsEs from "../../shared/sentences/findings.es.json" with { type: "file" };
import findingsFr from "../../shared/sentences/findings.fr.json" with { type: "file" };
import findingsPt from "../../shared/sentences/findings.pt.json" with { type: "file" };
import findingsRu from "../../shared/sentences/findings.ru.json" with { type: "file" };
import findingsZh from "../../shared/sentences/findings.zh.json" with { type: "file" };
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
  /** That of its errors, which is asked for with the first of them. */
  errors: string | null;
  /** That of what checks find, which is read with their view. */
  findings: string | null;
}

/** A language is offered when its catalogue is complete, which tests/page/languages.test.ts checks. */
export const LANGUAGES: readonly Language[] = [
  offered("en", null, null, null, null),
  offered("de", de, sentencesDe, errorsDe, findingsDe),
  offered("es", es, sentencesEs, errorsEs, findingsEs),
  offered("fr", fr, sentencesFr, errorsFr, findingsFr),
  offered("pt", pt, sentencesPt, errorsPt, findingsPt),
  offered("ru", ru, sentencesRu, errorsRu, findingsRu),
  offered("zh", zh, sentencesZh, errorsZh, findingsZh),
];

/** What is imported as a file is its address. */
function offered(
  code: LanguageCode,
  catalogue: unknown,
  sentences: unknown,
  errors: unknown,
  findings: unknown,
): Language {
  return {
    code,
    name: LANGUAGE_NAMES[code],
    catalogue: catalogue as string | null,
    sentences: sentences as string | null,
    errors: errors as string | null,
    findings: findings as string | null,
  };
}

import de from "./de.json" with { type: "file" };
import es from "./es.json" with { type: "file" };
import fr from "./fr.json" with { type: "file" };
import pt from "./pt.json" with { type: "file" };
import ru from "./ru.json" with { type: "file" };
import zh from "./zh.json" with { type: "file" };

/** A language of the page. */
export interface Language {
  code: string;
  /** In itself, for whoever reads no other. */
  name: string;
  /** The address of its messages; English needs none. */
  catalogue: string | null;
}

/** A language is offered when its catalogue is complete, which tests/page/languages.test.ts checks. */
export const LANGUAGES: readonly Language[] = [
  { code: "en", name: "English", catalogue: null },
  { code: "de", name: "Deutsch", catalogue: de as unknown as string },
  { code: "es", name: "Español", catalogue: es as unknown as string },
  { code: "fr", name: "Français", catalogue: fr as unknown as string },
  { code: "pt", name: "Português (Brasil)", catalogue: pt as unknown as string },
  { code: "ru", name: "Русский", catalogue: ru as unknown as string },
  { code: "zh", name: "简体中文", catalogue: zh as unknown as string },
];

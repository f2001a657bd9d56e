import { choose, language } from "../language.ts";
import { LANGUAGES } from "../languages/all.ts";

/** The languages to choose from, each by its own name, for whoever cannot read the present one. */
export function Languages() {
  if (LANGUAGES.length < 2) return null;
  return (
    <ul class="languages">
      {LANGUAGES.map((each) => (
        <li key={each.code}>
          <button
            type="button"
            class="button plain"
            lang={each.code}
            aria-pressed={each.code === language.code}
            onClick={() => {
              choose(each);
              location.reload();
            }}
          >
            {each.name}
          </button>
        </li>
      ))}
    </ul>
  );
}

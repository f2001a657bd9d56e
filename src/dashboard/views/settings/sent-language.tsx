import type { ShownSettings } from "../../../http/settings-schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { LANGUAGES } from "../../languages/all.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";

/** The language of what the gateway sends, which no browser reads. */
export function SentLanguage({ of }: { of: ShownSettings }) {
  return (
    <section class="card words">
      <h2>{say("Language of notifications")}</h2>
      <p>{say("Notifications, and the last alert in Home Assistant, are told in this language.")}</p>
      <AutosaveSelect
        label={say("Language of notifications")}
        value={of.language}
        from={of}
        save={async (language) => {
          await change("PUT", "settings", { language });
        }}
        options={LANGUAGES.map(({ code, name }) => ({ value: code, text: name }))}
      />
    </section>
  );
}

import { sentenceFrom } from "../../shared/words.ts";
import { change } from "../api.ts";
import { closeImport, current, type Import, importAs, isOfOther, type Result } from "../imports.ts";
import { say } from "../language.ts";
import { later } from "../later.tsx";
import { useRoute } from "../route.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Form } from "./form.tsx";
import { Icon } from "./icon.tsx";
import { Say } from "./say.tsx";
import { Told } from "./told.tsx";

const WgEasyClients = later((views) => views.WgEasyClients);
const GluetunCommands = later((views) => views.GluetunCommands);

/** What was imported without a remark is counted beyond this. */
const MAX_SHOWN = 50;

/** What becomes of the files that were dropped or chosen. */
export function ImportDialog() {
  const { results, left, isShown, isLastChance } = current.value;
  const isSetup = useRoute() === "setup";
  if (!isShown) return null;
  const isSome = results.some(({ name }) => name !== null);
  return (
    <Dialog
      title={left > 0 ? say("Importing") : say("Import")}
      {...(isLastChance && { isLastChance })}
      onClose={closeImport}
    >
      {(left > 0 || !results.every(isOfOther)) && (
        <p role="status">
          {left > 0 && <Icon name="wait" />} {summaryOf(current.value)}
        </p>
      )}
      <Results results={results} />
      {left === 0 && !isLastChance && (
        <div class="dialog-buttons">
          {isSome && !isSetup && (
            <Button doing={say("Switching…")} work={showImported}>
              {say("Show imported servers")}
            </Button>
          )}
          <button type="button" class="button primary" onClick={closeImport}>
            {isSome && isSetup ? say("Continue") : say("Close")}
          </button>
        </div>
      )}
    </Dialog>
  );
}

async function showImported(): Promise<void> {
  await change("POST", "provider/imported");
  location.hash = "#/servers";
  closeImport();
}

function summaryOf({ results, left }: Import): string {
  const imported = results.filter(({ name }) => name !== null).length;
  const refused = results.filter((each) => each.name === null && !isOfOther(each)).length;
  return say(
    "{imported, plural, one {# server imported} other {# servers imported}}{refused, plural, =0 {} one {, # refused} other {, # refused}}{left, plural, =0 {} one {, # file to come} other {, # files to come}}.",
    { imported, refused, left },
  );
}

/** What was refused first, then what needs a remark. */
function Results({ results }: { results: readonly Result[] }) {
  const refused = results.filter(({ name }) => name === null);
  const noted = results.filter(({ name, notes }) => name !== null && notes.length > 0);
  const plain = results.filter(({ name, notes }) => name !== null && notes.length === 0);
  const rest = plain.length - MAX_SHOWN;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long list is scrolled by keyboard too
    <ul class="rows results" tabIndex={0} aria-label={say("Files")}>
      {[...refused, ...noted, ...plain.slice(0, MAX_SHOWN)].map((result, index) => (
        <Row key={`${index} ${result.file}`} result={result} />
      ))}
      {rest > 0 && (
        <li class="quiet">
          {say(
            "{count, plural, one {And # other, imported without warnings.} other {And # others, imported without warnings.}}",
            { count: rest },
          )}
        </li>
      )}
    </ul>
  );
}

function Row({ result }: { result: Result }) {
  const { file, name, notes, config, wgEasy, gluetun } = result;
  if (wgEasy !== undefined || gluetun !== undefined)
    return (
      <li>
        {wgEasy && <WgEasyClients of={wgEasy} />}
        {gluetun && <GluetunCommands of={gluetun} />}
      </li>
    );
  const isRefused = name === null;
  return (
    <li class={`row tone-${isRefused ? "exposed" : notes.length > 0 ? "partly" : "protected"}`}>
      <Icon name={isRefused ? "bad" : notes.length > 0 ? "warning" : "good"} />
      <div>
        <Say
          message={isRefused ? "<strong>{name}</strong> was refused" : "<strong>{name}</strong> was imported"}
          parts={{ name: name ?? file }}
        />
        {notes.map((note) => (
          <p key={note} class={isRefused ? "" : "quiet"}>
            <Told text={sentenceFrom(note)} />
          </p>
        ))}
        {config !== undefined && <Rename result={result} />}
      </div>
    </li>
  );
}

function Rename({ result }: { result: Result }) {
  return (
    <Form
      of="file"
      rows={{ name: { label: say("Another name for {file}", { file: result.file }) } }}
      work={({ name }) => importAs(result, name)}
      submit={say("Import")}
      doing={say("Importing…")}
    />
  );
}

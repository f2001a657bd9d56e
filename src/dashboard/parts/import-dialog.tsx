import { useState } from "preact/hooks";
import { change } from "../api.ts";
import { countOf, sentenceFrom } from "../format.ts";
import { closeImport, current, type Import, importAs, type Result } from "../imports.ts";
import { useRoute } from "../route.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { useFaults } from "./faults.ts";
import { Field, Form } from "./form.tsx";
import { Icon } from "./icon.tsx";

/** What was imported without a remark is counted beyond this. */
const MAX_SHOWN = 50;

/** What becomes of the files that were dropped or chosen. */
export function ImportDialog() {
  const { results, left, isShown } = current.value;
  const isSetup = useRoute() === "setup";
  if (!isShown) return null;
  const isSome = results.some(({ name }) => name !== null);
  return (
    <Dialog title={left > 0 ? "Importing" : "Import"} onClose={closeImport}>
      <p role="status">
        {left > 0 && <Icon name="wait" />} {summaryOf(current.value)}
      </p>
      <Results results={results} />
      {left === 0 && (
        <div class="dialog-buttons">
          {isSome && !isSetup && (
            <Button doing="Switching…" work={showImported}>
              Show imported servers
            </Button>
          )}
          <button type="button" class="button primary" onClick={closeImport}>
            {isSome && isSetup ? "Go on" : "Close"}
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
  const refused = results.length - imported;
  const parts = [
    `${countOf(imported, "server")} imported`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(left > 0 ? [`${countOf(left, "file")} to come`] : []),
  ];
  return `${parts.join(", ")}.`;
}

/** What was refused first, then what needs a remark. */
function Results({ results }: { results: readonly Result[] }) {
  const refused = results.filter(({ name }) => name === null);
  const noted = results.filter(({ name, notes }) => name !== null && notes.length > 0);
  const plain = results.filter(({ name, notes }) => name !== null && notes.length === 0);
  const rest = plain.length - MAX_SHOWN;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long list is scrolled by keyboard too
    <ul class="rows results" tabIndex={0} aria-label="Files">
      {[...refused, ...noted, ...plain.slice(0, MAX_SHOWN)].map((result, index) => (
        <Row key={`${index} ${result.file}`} result={result} />
      ))}
      {rest > 0 && <li class="quiet">And {countOf(rest, "other")}, imported without warnings.</li>}
    </ul>
  );
}

function Row({ result }: { result: Result }) {
  const { file, name, notes, config } = result;
  const isRefused = name === null;
  return (
    <li class={`row tone-${isRefused ? "exposed" : notes.length > 0 ? "partly" : "protected"}`}>
      <Icon name={isRefused ? "bad" : notes.length > 0 ? "warning" : "good"} />
      <div>
        <strong>{name ?? file}</strong> {isRefused ? "was refused" : "was imported"}
        {notes.map((note) => (
          <p key={note} class={isRefused ? "" : "quiet"}>
            {sentenceFrom(note)}
          </p>
        ))}
        {config !== undefined && <Rename result={result} />}
      </div>
    </li>
  );
}

function Rename({ result }: { result: Result }) {
  const [name, setName] = useState("");
  const faults = useFaults(["name"]);
  return (
    <Form faults={faults} work={() => importAs(result, name.trim())} submit="Import" doing="Importing…">
      <Field
        label={`Another name for ${result.file}`}
        name="name"
        value={name}
        onValue={setName}
        fault={faults.textFor("name")}
      />
    </Form>
  );
}

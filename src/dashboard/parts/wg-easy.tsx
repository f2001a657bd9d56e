import { useState } from "preact/hooks";
import { clientFileName } from "../../remote/client-file.ts";
import type { WgEasyFile } from "../../shared/wg-easy.ts";
import { sentenceFrom } from "../../shared/words.ts";
import { change } from "../api.ts";
import { listOf } from "../format.ts";
import { keepOpen } from "../imports.ts";
import { say } from "../language.ts";
import { type Outcome, outcomeOf } from "../wg-easy.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { useObjectUrl } from "./object-url.ts";
import { Told } from "./told.tsx";

/** Names the clients of wg-easy, asks once, and lets them come in from outside, each with a new file. */
export function WgEasyClients({ of: { clients, left } }: { of: WgEasyFile }) {
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const isNone = outcomes.every((each) => "fault" in each);
  const letIn = async () => {
    setOutcomes([]);
    keepOpen();
    for (const client of clients) {
      const outcome = await outcomeOf(client, (device) => change("POST", "remote/devices", device));
      setOutcomes((before) => [...before, outcome]);
    }
  };
  return (
    <div class="wg-easy">
      {clients.length > 0 && (
        <p>
          {say(
            "Devices of wg-easy that can come in from outside: {names}. Each keeps its keys, and needs a new file.",
            { names: listOf(clients.map(({ name }) => name)) },
          )}
        </p>
      )}
      {left.length > 0 && (
        <p class="quiet">
          {say("Not these, which are disabled there or have no private key: {names}.", {
            names: listOf([...left]),
          })}
        </p>
      )}
      {clients.length > 0 && (isNone || outcomes.length < clients.length) && (
        <Button doing={say("Adding…")} work={letIn}>
          {say("Let them in")}
        </Button>
      )}
      {outcomes.length > 0 && (
        <>
          {!isNone && (
            <p>
              {say(
                "Download each file now, and open it with the WireGuard app of its device. Nothing keeps them.",
              )}
            </p>
          )}
          <ul class="rows">
            {outcomes.map((each, at) => (
              <li key={`${at} ${each.name}`} class="row">
                {"file" in each ? (
                  <Download name={each.name} file={each.file} />
                ) : (
                  <p>
                    <strong>{each.name}</strong> <Told text={sentenceFrom(each.fault)} />
                  </p>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function Download({ name, file }: { name: string; file: string }) {
  const url = useObjectUrl(file);
  return (
    url !== null && (
      <a class="button" href={url} download={clientFileName(name)}>
        <Icon name="down" /> {name}
      </a>
    )
  );
}

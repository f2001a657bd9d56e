import { useState } from "preact/hooks";
import { MAX_URL_CHARACTERS, SPEED_BOUNDS } from "../../../shared/bounds.ts";
import type { SpeedResult, SpeedTestList } from "../../../speed/schema.ts";
import { useAction } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { bitRateOf, bytesOf, timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Field, Form, Select } from "../../parts/form.tsx";

/** What an address looks like, in every language. */
const EXAMPLE = "https://speed.example.com/100MB.bin";
const BITS_PER_MEGABIT = 1_000_000;

/** Measures a tunnel by a download that a person asks for. */
export function Speed({ tunnels }: { tunnels: readonly string[] }) {
  const action = useAction();
  const [url, setUrl] = useState("");
  const [chosen, setChosen] = useState("main");
  const tests = knownOf(useAnswer("speed-tests"));
  const tunnel = tunnels.includes(chosen) ? chosen : "main";
  const work = async () => {
    const { mbit_per_second } = await change<SpeedResult>("POST", "speed-tests", { url, tunnel });
    return say("{tunnel}: {rate}", { tunnel, rate: megabitsOf(mbit_per_second) });
  };
  return (
    <section class="card words">
      <h2>{say("Speed test")}</h2>
      <p>
        {say(
          "A file is downloaded through the tunnel, for at most {seconds} seconds and {megabytes} MB. Its server sees a visitor who comes from the tunnel.",
          { seconds: SPEED_BOUNDS.seconds.usual, megabytes: SPEED_BOUNDS.megabytes.usual },
        )}
      </p>
      <Form action={action} work={work} submit={say("Measure")} doing={say("Measuring…")}>
        <Field
          label={say("Address of a large file")}
          hint={EXAMPLE}
          required
          maxLength={MAX_URL_CHARACTERS}
          pattern="https://.+"
          title={say("An https address")}
          value={url}
          onValue={setUrl}
        />
        <Select
          label={say("Tunnel")}
          value={tunnel}
          onValue={setChosen}
          options={tunnels.map((value) => ({ value, text: value }))}
        />
      </Form>
      {tests !== null && <Tests of={tests} />}
    </section>
  );
}

function Tests({ of: { running, results } }: { of: SpeedTestList }) {
  return (
    <>
      {running !== null && (
        <p role="status">
          {say("{tunnel} is measured: {bytes} until now.", {
            tunnel: running.tunnel,
            bytes: bytesOf(running.bytes),
          })}
        </p>
      )}
      {results.length > 0 && (
        <ul class="setting-rows">
          {results.map((result) => (
            <li key={result.at}>
              {say("{time}: {rate} by {tunnel}, {server}", {
                time: timeOf(result.at),
                rate: megabitsOf(result.mbit_per_second),
                tunnel: result.tunnel,
                server: result.server,
              })}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function megabitsOf(megabits: number): string {
  return bitRateOf(BITS_PER_MEGABIT * megabits);
}

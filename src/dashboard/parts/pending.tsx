import { say } from "../language.ts";
import type { Loaded } from "../store.ts";
import { Icon } from "./icon.tsx";
import { Told } from "./told.tsx";

/** Stands for an answer that is not there: still awaited, or why it could not be had. */
export function Pending({ of: answer }: { of: Exclude<Loaded<unknown>, { state: "ready" }> }) {
  if (answer.state === "loading")
    return (
      <p class="pending" role="status">
        <Icon name="wait" /> {say("Asking the gateway…")}
      </p>
    );
  return (
    <p class="pending outcome failed" role="alert">
      <Icon name="warning" /> <Told text={answer.error} />
    </p>
  );
}

import { useState } from "preact/hooks";
import { say } from "../language.ts";
import { FormButton } from "./button.tsx";
import { Dialog, type Question } from "./dialog.tsx";
import { Form } from "./form.tsx";

interface OnceMoreProps {
  ask: Question;
  doing: string;
  /** Does it with the owner's passphrase, which the gateway checks. */
  work: (passphrase: string) => Promise<unknown>;
  children: string;
}

/** A button for what opens the kill switch: it asks the owner for the passphrase. */
export function OnceMore({ ask, doing, work, children }: OnceMoreProps) {
  const [isAsking, setAsking] = useState(false);
  const close = () => setAsking(false);
  return (
    <>
      <FormButton open={() => setAsking(true)}>{children}</FormButton>
      {isAsking && (
        <Dialog title={ask.title} onClose={close}>
          <p>{ask.text}</p>
          <Form
            of="killSwitch"
            rows={{ passphrase: { label: say("Your passphrase"), type: "password", required: true } }}
            work={async ({ passphrase = "" }) => {
              await work(passphrase);
              close();
            }}
            submit={ask.confirm}
            doing={doing}
          />
        </Dialog>
      )}
    </>
  );
}

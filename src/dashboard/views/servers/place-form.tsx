import { useState } from "preact/hooks";
import { refresh } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { FormButton } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";

/** Where an imported server is: the name of its file tells that only of some. */
export function PlaceButton(props: { name: string; place: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <FormButton label={say("Place of {server}…", { server: props.name })} open={() => setOpen(true)}>
        {say("Place…")}
      </FormButton>
      {isOpen && <PlaceForm {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function PlaceForm({ name, place, onClose }: { name: string; place: string; onClose: () => void }) {
  return (
    <Dialog title={say("Where is {server}?", { server: name })} onClose={onClose}>
      <Form
        of="place"
        rows={{
          location: {
            label: say("Place"),
            hint: say(
              "Such as Gothenburg, Sweden. The city and the country in English, as lists of servers have them.",
            ),
            value: place,
          },
        }}
        work={async ({ location }) => {
          await change("PUT", pathOf("import", name), { location });
          await refresh("servers");
          onClose();
        }}
        submit={say("Save the place")}
        doing={say("Saving…")}
      />
    </Dialog>
  );
}

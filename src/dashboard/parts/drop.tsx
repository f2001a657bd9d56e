import { useEffect, useState } from "preact/hooks";
import { importFiles } from "../imports.ts";
import { say } from "../language.ts";
import { Icon } from "./icon.tsx";
import { ImportDialog } from "./import-dialog.tsx";

/** Makes the whole page a place to drop WireGuard files, and shows what became of them. */
export function Drop() {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      // Otherwise the browser would open the file.
      event.preventDefault();
      setOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      importFiles(event.dataTransfer?.files ?? []);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  return (
    <>
      {isOver && (
        <p class="drop">
          <Icon name="file" /> {say("Drop WireGuard files, or a zip of them, to import them")}
        </p>
      )}
      <ImportDialog />
    </>
  );
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes("Files") === true;
}

import { type RowFault, rowFaultText } from "../codes.ts";
import { Icon } from "./icon.tsx";
import { Told } from "./told.tsx";

/** What is wrong with something; nothing if nothing is. */
export function Trouble({ of, intro = "" }: { of: RowFault; intro?: string }) {
  const text = rowFaultText(of);
  if (text === null) return null;
  return (
    <p class="outcome failed">
      <Icon name="warning" />{" "}
      <span>
        {intro} <Told text={text} />
      </span>
    </p>
  );
}

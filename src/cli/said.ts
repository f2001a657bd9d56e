/** What a command has to say: to scripts the gateway's answer, to people a text. */
export interface Said {
  json: unknown;
  text: string;
  /** Where it is not `EXIT.ok`. */
  code?: number;
}

/** Where the gateway answers, unless --url or PORTCULLIS_URL says otherwise. */
export const DEFAULT_URL = "http://127.0.0.1:5000";

/** In the place of a file: a line of standard input, or, at a terminal, an answer that is not shown. */
export const STANDARD_INPUT = "-";

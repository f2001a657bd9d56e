/** The codes of alerts that say that something works again. */
export const GOOD = /(_(restored|gone|uncontested)|^state_saved|^killswitch_on)$/;

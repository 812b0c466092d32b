/**
 * Whether a tool's name is what it looks like: ASCII letters and digits, the marks that names of tools are made of,
 * and Chinese characters. No blanks or line ends, nothing invisible, no letters of another script that look Latin
 * (`bank__trаnsfer` with a Cyrillic а), no compatibility forms (`ｂank`), and no `*`, which only patterns have.
 */
export const isPlainToolName = (name: string): boolean => PLAIN.test(name) && name === name.normalize('NFKC');

const PLAIN = /^[A-Za-z0-9_.:/+@\-\p{Script=Han}]{1,200}$/u;

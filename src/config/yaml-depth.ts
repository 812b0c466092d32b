import { Lexer, Parser } from 'yaml';

/**
 * Whether collections lie in each other more than `limit` deep. Asked before anything else reads the text: the
 * composer recurses, and a text of brackets alone ends the process when the stack does.
 */
export function isDeeperThan(limit: number, text: string): boolean {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme)) {
      // The tokens are of no interest here.
    }
    // The document itself and the scalar being read are on the stack as well.
    if (parser.stack.length > limit + 2) return true;
  }
  return false;
}

/** The longest name, in UTF-16 units. */
export const maxNameLength = 500;

/**
 * Whether text has a visible character; spaces and characters without a glyph of their own do not
 * count.
 */
export function showsSomething(text: string): boolean {
  return /[^\s\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}

/**
 * Whether the database can store text as a name: well-formed, without NUL, of at most 500 UTF-16
 * units.
 */
export function isStorableName(text: string): boolean {
  return text.length <= maxNameLength && !text.includes('\0') && text.isWellFormed();
}

/** The requirement of `isStorableName`, as a message. */
export const storableName = `must be well-formed text of at most ${maxNameLength} characters.`;

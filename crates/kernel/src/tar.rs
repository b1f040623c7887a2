//! Reader of the tar archives that guests leave.

/// Bytes of a block.
const BLOCK: usize = 512;

/// Returns path and content of the regular files in an archive. An archive that breaks off gives
/// the files that are complete. Symbolic links are left out, and paths that lead out of the archive.
pub fn unpack(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut at = 0;
    let mut long_name = None;
    while let Some(header) = archive.get(at..at + BLOCK).filter(|header| header[0] != 0) {
        let Some(size) = octal(&header[124..136]) else { break };
        let Some(content) = archive.get(at + BLOCK..at + BLOCK + size) else { break };
        at += BLOCK + size.next_multiple_of(BLOCK);
        let path = plain(long_name.take().unwrap_or_else(|| text(&header[..100])));
        match header[156] {
            b'L' => long_name = Some(text(content)),
            b'0' | 0 if is_inside(&path) => files.push((path, content.to_vec())),
            // A second name of a file before it.
            b'1' if is_inside(&path) => {
                let first = plain(text(&header[157..257]));
                let content = files.iter().find(|(path, _)| *path == first);
                if let Some(content) = content.map(|(_, content)| content.clone()) {
                    files.push((path, content));
                }
            }
            _ => {}
        }
    }
    files
}

/// Returns a path without the archive's own directory.
fn plain(path: String) -> String {
    path.trim_start_matches("./").to_string()
}

/// True if the path does not lead out of the archive.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "..")
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn octal(bytes: &[u8]) -> Option<usize> {
    usize::from_str_radix(text(bytes).trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = kind;
        block.extend_from_slice(content);
        block.resize(block.len().next_multiple_of(BLOCK), 0);
        block
    }

    fn second(name: &str, first: &str) -> Vec<u8> {
        let mut block = entry(name, b'1', b"");
        block[157..157 + first.len()].copy_from_slice(first.as_bytes());
        block
    }

    #[test]
    fn reads_files_and_nothing_else() {
        let long = "x".repeat(120);
        let archive = [
            entry("./", b'5', b""),
            entry("./a.txt", b'0', b"hello"),
            entry("././@LongLink", b'L', long.as_bytes()),
            entry(&long[..100], b'0', b"long"),
            entry("link", b'2', b""),
            second("b.txt", "./a.txt"),
            second("c.txt", "nothing"),
            entry("../outside", b'0', b"no"),
            entry("/etc/passwd", b'0', b"no"),
            entry("cut", b'0', &[1; 2000])[..1000].to_vec(),
        ]
        .concat();
        let found = unpack(&archive);
        assert_eq!(
            found,
            [
                ("a.txt".into(), b"hello".to_vec()),
                (long, b"long".to_vec()),
                ("b.txt".into(), b"hello".to_vec())
            ]
        );
        assert!(unpack(b"").is_empty() && unpack(&[7; 600]).is_empty());
    }
}

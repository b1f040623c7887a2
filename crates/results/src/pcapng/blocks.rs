//! Blocks of a pcapng file (draft-ietf-opsawg-pcapng), little-endian.

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;

/// Appends the section header block (section 4.1).
pub fn section_header(out: &mut Vec<u8>) {
    block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0; the length of the section is not specified.
        out.extend(1u16.to_le_bytes());
        out.extend(0u16.to_le_bytes());
        out.extend((-1i64).to_le_bytes());
        // shb_userappl
        option(out, 4, concat!("afflux ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(out, 0, &[]);
    });
}

/// Appends an interface description block (section 4.2).
pub fn interface(out: &mut Vec<u8>, name: &str, rate_bps: u64, snaplen: u32) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(LINKTYPE_ETHERNET.to_le_bytes());
        out.extend(0u16.to_le_bytes());
        out.extend(snaplen.to_le_bytes());
        // if_name, if_speed, if_tsresol: 10^-9 s.
        option(out, 2, name.as_bytes());
        option(out, 8, &rate_bps.to_le_bytes());
        option(out, 9, &[9]);
        option(out, 0, &[]);
    });
}

/// Appends a name resolution block with the names of hosts (section 4.5). Appends nothing if there
/// are no names.
pub fn names(out: &mut Vec<u8>, names: &[([u8; 4], &str)]) {
    if names.is_empty() {
        return;
    }
    block(out, NAME_RESOLUTION, |out| {
        for (address, name) in names {
            // nrb_record_ipv4: the address, and its zero-terminated name. Names contain no zeros
            // and have at most 100 bytes.
            let record: Vec<u8> =
                address.iter().chain(name.as_bytes()).copied().chain([0]).collect();
            option(out, 1, &record);
        }
        option(out, 0, &[]);
        option(out, 0, &[]);
    });
}

/// Appends an enhanced packet block (section 4.3) with the first bytes of a frame of `length` bytes
/// at one of the described interfaces.
pub fn packet(out: &mut Vec<u8>, interface: u32, time_ns: u64, captured: &[u8], length: u32) {
    block(out, ENHANCED_PACKET, |out| {
        out.extend(interface.to_le_bytes());
        out.extend(((time_ns >> 32) as u32).to_le_bytes());
        out.extend((time_ns as u32).to_le_bytes());
        out.extend((captured.len() as u32).to_le_bytes());
        out.extend(length.to_le_bytes());
        padded(out, captured);
    });
}

/// Appends a block: type, length, body, and length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    padded(out, value);
}

/// Appends bytes, padded to a multiple of 32 bits.
fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(4), 0);
}
